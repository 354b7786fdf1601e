"""What users do with the programs; see programs.py."""
