"""Networks of PyTorch that tests and benchmarks export as ONNX files."""

import torch


class Block(torch.nn.Module):
    """A residual block with batch normalization."""

    def __init__(self, channels):
        super().__init__()
        self.first = torch.nn.Conv2d(channels, channels, 3, padding=1,
                                     bias=False)
        self.norm1 = torch.nn.BatchNorm2d(channels)
        self.second = torch.nn.Conv2d(channels, channels, 3, padding=1,
                                      bias=False)
        self.norm2 = torch.nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.norm1(self.first(x)))
        return torch.relu(x + self.norm2(self.second(y)))


def mlp():
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128),
                         nn.ReLU(), nn.Linear(128, 10)), (784,)


def lenet():
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 120),
        nn.Tanh(), nn.Linear(120, 10), nn.LogSoftmax(1)), (1, 28, 28)


def residual():
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        Block(8), nn.MaxPool2d(3, stride=2, padding=1), Block(8),
        nn.AvgPool2d(3, stride=1, padding=1), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(8, 10)), (3, 16, 16)


def cnn():
    """That of tests/benchmarks/throughput.cpp."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10),
        nn.LogSoftmax(1)), (1, 28, 28)


def cifar():
    """The network of the paper, examples/paper/cifar.cpp."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3),
        nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 64, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 10),
        nn.LogSoftmax(1)), (3, 32, 32)


class Layer(torch.nn.Module):
    """One layer of a transformer: attention, then two linear layers."""

    def __init__(self, size, heads):
        super().__init__()
        nn = torch.nn
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.query, self.key = nn.Linear(size, size), nn.Linear(size, size)
        self.value, self.out = nn.Linear(size, size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(),
                                 nn.Linear(2 * size, size))

    def forward(self, x):
        y = self.norm1(x)
        length, size = x.shape[1:]
        query, key, value = (
            linear(y).reshape(-1, length, self.heads, size // self.heads)
            .transpose(1, 2) for linear in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(2, 3) *
                                (size // self.heads) ** -0.5, 3)
        x = x + self.out((weights @ value).transpose(1, 2)
                         .reshape(-1, length, size))
        return x + self.mlp(self.norm2(x))


class Transformer(torch.nn.Module):
    """A vision transformer: 16 patches of an image of 28 x 28 are its tokens."""

    def __init__(self, size=64, heads=4, layers=2):
        super().__init__()
        nn = torch.nn
        self.patches = nn.Linear(49, size)
        self.places = nn.Parameter(0.02 * torch.randn(16, size))
        self.layers = nn.Sequential(*(Layer(size, heads)
                                      for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 10)

    def forward(self, x):
        x = x.reshape(-1, 4, 7, 4, 7).transpose(2, 3).reshape(-1, 16, 49)
        x = self.layers(self.patches(x) + self.places)
        return torch.log_softmax(self.head(self.norm(x)).mean(1), 1)


def transformer():
    return Transformer(), (784,)


def export(model, shape, path):
    """Write an ONNX file of a model as it is trained."""
    model.train()
    torch.onnx.export(
        model, torch.zeros((2,) + shape), path, input_names=["x"],
        output_names=["y"], opset_version=14,
        training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
