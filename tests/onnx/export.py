#!/usr/bin/env python3
"""Writes models as PyTorch exports them, and what PyTorch makes of them.

Usage: export.py FOLDER [NAME...]

For each model NAME.onnx, and NAME.data with an input batch, targets, the loss,
and each parameter after one step of SGD and one of Adam.  The latter is a graph
of ONNX that consists of named tensors only.  exported_test.cpp reads both.  The
files in the folder exported were made with PyTorch 2.6 (Debian 13), for which
this needs python3-torch and python3-onnx.
"""

import inspect
import os
import sys

import onnx
import onnx.numpy_helper
import torch
from torch import nn
from torch.nn import functional as F

BATCH = 4
RATE = {"sgd": 0.05, "adam": 0.01}
# A large one: without it Adam's first step is the sign of each gradient, and
# those that should be 0 are rounding errors.
EPSILON = 1e-3


def gelu_mlp():
    """opset 20 has Gelu."""
    model = nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.LayerNorm(16),
                          nn.Linear(16, 16), nn.GELU("tanh"), nn.Dropout(0.0),
                          nn.Linear(16, 5))
    return model, [torch.randn(BATCH, 12)], torch.randint(5, (BATCH,)), \
        F.cross_entropy, 20


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


def resnet():
    """The stages of ResNet-18, with few channels.  The last ones still have
    enough pixels that deviations within a batch are not tiny."""
    stages = [nn.Conv2d(1, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4),
              nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    sizes = [4, 4, 6, 6, 8]
    for i in range(4):
        stages.append(ResidualBlock(sizes[i], sizes[i + 1], 1 if i == 0 else 2))
        stages.append(ResidualBlock(sizes[i + 1], sizes[i + 1], 1))
    model = nn.Sequential(*stages, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1),
                          nn.Linear(8, 5))
    return model, [torch.randn(2 * BATCH, 1, 40, 40)], \
        torch.randint(5, (2 * BATCH,)), F.cross_entropy, 13


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, 4, 1)
        self.fc2 = nn.Conv2d(4, channels, 1)

    def forward(self, x):
        y = F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))
        return x * F.hardsigmoid(self.fc2(y))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, hidden, outputs, stride):
        super().__init__()
        self.skip = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden),
            nn.Hardswish(), nn.Conv2d(hidden, hidden, 3, stride, 1,
                                      groups=hidden, bias=False),
            nn.BatchNorm2d(hidden), nn.ReLU6(), SqueezeExcite(hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return x + self.layers(x) if self.skip else self.layers(x)


def mobilenet():
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3, 2, 1, bias=False), nn.BatchNorm2d(6), nn.Hardswish(),
        InvertedResidual(6, 12, 6, 1), InvertedResidual(6, 12, 8, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10), nn.Hardswish(),
        nn.Dropout(0.0), nn.Linear(10, 5))
    return model, [torch.randn(BATCH, 3, 16, 16)], \
        torch.randint(5, (BATCH,)), F.cross_entropy, 14


class UNet(nn.Module):
    """Down, and up again by a transposed convolution and by interpolation; a
    class for each pixel."""

    def __init__(self):
        super().__init__()
        def block(inputs, outputs):
            return nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, padding=1,
                          padding_mode="reflect"),
                nn.GroupNorm(2, outputs), nn.SiLU())
        self.first, self.down1 = block(2, 4), block(4, 6)
        self.down2 = block(6, 8)
        self.up1 = nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.merge1 = block(12, 6)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear",
                               align_corners=True)
        self.merge2 = block(10, 4)
        self.norm = nn.InstanceNorm2d(4, affine=True)
        self.last = nn.Conv2d(4, 3, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.down1(F.max_pool2d(a, 2))
        c = self.down2(F.avg_pool2d(b, 2))
        c = F.interpolate(c, scale_factor=2.0, mode="nearest")
        c = F.max_pool2d(c, 2)
        b = self.merge1(torch.cat([b, self.up1(c)], 1))
        a = self.merge2(torch.cat([a, self.up2(b)], 1))
        return self.last(F.leaky_relu(self.norm(a)))


def unet():
    return UNet(), [torch.randn(BATCH, 2, 16, 16)], \
        torch.randint(3, (BATCH, 16, 16)), F.cross_entropy, 16


class Encoder(nn.Module):
    def __init__(self, activation):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.0, activation=activation, batch_first=True)
        self.inputs = nn.Linear(5, 8)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.encoder(self.inputs(x)).mean(1))


def encoder():
    """LayerNormalization is one operator from opset 17 on."""
    return Encoder("gelu"), [torch.randn(BATCH, 6, 5)], \
        torch.randint(4, (BATCH,)), F.cross_entropy, 17


def encoder_old():
    """Before that, it is written by others."""
    return Encoder("relu"), [torch.randn(BATCH, 6, 5)], \
        torch.randint(4, (BATCH,)), F.cross_entropy, 14


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = self.qkv(x).split(size, 2)
        q, k, v = (each.view(batch, length, self.heads, size // self.heads)
                   .transpose(1, 2) for each in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, size))


class Layer(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = Attention(size, heads)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU("tanh"),
                                 nn.Linear(2 * size, size))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Causal, with embeddings of tokens and places; the head is tied to those
    of tokens."""

    def __init__(self, words=11, length=6, size=8):
        super().__init__()
        self.tokens = nn.Embedding(words, size)
        self.places = nn.Embedding(length, size)
        self.layers = nn.Sequential(Layer(size, 2), Layer(size, 2))
        self.norm = nn.LayerNorm(size)
        self.head = nn.Linear(size, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.places(places)
        return self.head(self.norm(self.layers(x)))


def by_token(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def gpt():
    tokens = torch.randint(11, (BATCH, 6))
    return GPT(), [tokens], tokens.roll(-1, 1), by_token, 18


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.layers = kind(4, 5, batch_first=True, **settings)
        size = 10 if settings.get("bidirectional") else 5
        self.head = nn.Linear(size, 3)

    def forward(self, tokens):
        outputs, _ = self.layers(self.embedding(tokens))
        return self.head(outputs[:, -1])


def tokens_and_classes():
    return [torch.randint(9, (BATCH, 7))], torch.randint(3, (BATCH,))


def lstm():
    return Recurrent(nn.LSTM, num_layers=2, bidirectional=True), \
        *tokens_and_classes(), F.cross_entropy, 15


def gru():
    return Recurrent(nn.GRU), *tokens_and_classes(), F.cross_entropy, 19


def rnn():
    return Recurrent(nn.RNN, nonlinearity="relu"), *tokens_and_classes(), \
        F.cross_entropy, 13


def autoencoder():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ELU(),
        nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.PReLU(6), nn.Flatten(),
        nn.Linear(24, 6), nn.Mish(), nn.Linear(6, 24), nn.SELU(),
        nn.Unflatten(1, (6, 2, 2)), nn.ConvTranspose2d(6, 4, 3, 2, 1, 1),
        nn.Softplus(), nn.ConvTranspose2d(4, 1, 3, 2, 1, 1), nn.Sigmoid())
    points = torch.rand(BATCH, 1, 8, 8)
    return model, [points], points, F.mse_loss, 18


class Regression(nn.Module):
    """Two inputs, one of them of whole numbers; clamps and conditions."""

    def __init__(self):
        super().__init__()
        self.kinds = nn.Embedding(6, 3)
        self.first = nn.Linear(7, 10)
        self.norm = nn.BatchNorm1d(10)
        self.second = nn.Linear(10, 2)
        self.scale = nn.Parameter(torch.tensor([0.7, 1.3]))

    def forward(self, numbers, kinds):
        x = torch.cat([numbers, self.kinds(kinds).sum(1)], 1)
        x = F.normalize(self.norm(self.first(x)), dim=1)
        y = self.second(torch.where(x > 0.1, x, 0.2 * x.square()))
        return torch.maximum(y * self.scale, torch.tanh(y)).clamp(min=-2.0)


def regression():
    return Regression(), [torch.randn(BATCH, 4),
                          torch.randint(6, (BATCH, 2))], \
        torch.randn(BATCH, 2), F.mse_loss, 17


class WithLoss(nn.Module):
    """A model whose output is its loss; labels are an input."""

    def __init__(self, **settings):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(),
                                    nn.Linear(8, 4))
        self.loss = nn.CrossEntropyLoss(**settings)

    def forward(self, x, labels):
        return self.loss(self.layers(x), labels)


def as_it_is(output, _):
    return output


def own_loss():
    """With weights of classes, and a class that is left out."""
    weights = torch.tensor([0.5, 1.0, 2.0, 1.5])
    return WithLoss(weight=weights, ignore_index=2), \
        [torch.randn(BATCH, 6), torch.tensor([0, 3, 2, 1])], \
        torch.zeros(1), as_it_is, 13


def own_mean():
    return WithLoss(), [torch.randn(BATCH, 6), torch.randint(4, (BATCH,))], \
        torch.zeros(1), as_it_is, 17


MODELS = {f.__name__: f for f in (
    gelu_mlp, resnet, mobilenet, unet, encoder, encoder_old, gpt, lstm, gru,
    rnn, autoencoder, regression, own_loss, own_mean)}


def write_model(model, inputs, opset, path):
    names = ["input%d" % i for i in range(len(inputs))]
    axes = {name: {0: "batch"} for name in names + ["output"]}
    model.train()
    settings = {}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        settings["dynamo"] = False
    torch.onnx.export(
        model, tuple(inputs), path, opset_version=opset, input_names=names,
        output_names=["output"], dynamic_axes=axes, do_constant_folding=False,
        training=torch.onnx.TrainingMode.TRAINING, **settings)


def step(make, optimizer):
    """The loss, and parameters after one step."""
    torch.manual_seed(1)
    model, inputs, target, loss, _ = make()
    model.train()
    if optimizer == "sgd":
        rule = torch.optim.SGD(model.parameters(), lr=RATE["sgd"])
    else:
        rule = torch.optim.Adam(model.parameters(), lr=RATE["adam"],
                                eps=EPSILON)
    value = loss(model(*inputs), target)
    value.backward()
    rule.step()
    return value.detach(), dict(model.named_parameters())


def write(name, folder):
    make = MODELS[name]
    torch.manual_seed(1)
    model, inputs, target, _, opset = make()
    path = os.path.join(folder, name + ".onnx")
    write_model(model, inputs, opset, path)
    tensors = {"target": target}
    for i, value in enumerate(inputs):
        tensors["input%d" % i] = value
    for optimizer in RATE:
        tensors["loss"], parameters = step(make, optimizer)
        for parameter, value in parameters.items():
            tensors["%s:%s" % (optimizer, parameter)] = value.detach()
    graph = onnx.GraphProto()
    for key, value in tensors.items():
        graph.initializer.append(
            onnx.numpy_helper.from_array(value.numpy(), key))
    with open(path[:-5] + ".data", "wb") as file:
        file.write(graph.SerializeToString())
    found = onnx.load(path)
    # Where in PyTorch's sources each node comes from: half of the file.
    for node in found.graph.node:
        node.doc_string = ""
    onnx.save(found, path)
    given = {each.name for each in found.graph.initializer}
    missing = [key for key in parameters if key not in given]
    print("%s: opset %d, %d bytes, operators %s%s" % (
        name, opset, os.path.getsize(path),
        ", ".join(sorted({node.op_type for node in found.graph.node})),
        "; NOT in the file: %s" % ", ".join(missing) if missing else ""))


def main():
    folder = sys.argv[1]
    torch.set_num_threads(1)
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        write(name, folder)


main()
