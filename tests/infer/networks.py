# SPDX-License-Identifier: LGPL-2.1-or-later
"""Networks of some kilobytes, which the tests write with python3-onnx."""

import sys
from typing import Any, List, Optional, Sequence, Union

try:
    import onnx
except ImportError:
    print("skipped: python3-onnx is missing")
    sys.exit(77)

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, FLOAT16, UINT8 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8
TYPES = {"float32": FLOAT, "float16": FLOAT16, "uint8": UINT8}
Dim = Union[int, str]


class Graph:
    """The nodes of a network, each of which is named by its output."""

    def __init__(self) -> None:
        self.nodes: List[Any] = []
        self.constants: List[Any] = []

    def constant(self, value: Any) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op: str, *inputs: str, output: Optional[str] = None, **kw: Any) -> str:
        output = output or f"node{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], **kw))
        return output

    def save(
        self, path: str, inputs: Sequence[Any], outputs: Sequence[Any], opset: int = 18, ir: int = 9
    ) -> str:
        graph = helper.make_graph(self.nodes, "test", list(inputs), list(outputs), self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = ir
        onnx.save(model, path)
        return path


def value(name: str, type: int, *dims: Dim) -> Any:
    return helper.make_tensor_value_info(name, type, list(dims))


def picture_dims(height: Dim, width: Dim, layout: str, batch: Dim = 1) -> Sequence[Dim]:
    return (batch, 3, height, width) if layout == "nchw" else (batch, height, width, 3)


def bright_box(graph: Graph, layout: str, top: float) -> Sequence[str]:
    """The first and last column and row, all [1, 1], of what is brighter than half of top."""
    x = graph.node("Cast", "x", to=FLOAT)
    channels = graph.constant(np.array([1 if layout == "nchw" else 3], np.int64))
    mono = graph.node("ReduceMax", x, channels, keepdims=0)
    bright = graph.node("Greater", mono, graph.constant(np.float32(top / 2)))
    mask = graph.node("Cast", bright, to=FLOAT)
    edges = []
    for other in (1, 2):  # rows: the line of columns; columns: the line of rows
        line = graph.node(
            "ReduceMax", mask, graph.constant(np.array([other], np.int64)), keepdims=0)
        first = graph.node("Cast", graph.node("ArgMax", line, axis=1, keepdims=1), to=FLOAT)
        last = graph.node(
            "Cast", graph.node("ArgMax", line, axis=1, keepdims=1, select_last_index=1), to=FLOAT)
        edges += [first, graph.node("Add", last, graph.constant(np.float32(1)))]
    return edges


def yolo(
    path: str, height: Dim = 320, width: Dim = 320, layout: str = "nchw", type: str = "float32",
    batch: Dim = 1, boxes: Dim = 1
) -> str:
    """Finds what is bright: x and y of its centre, its width and height, and 0.9."""
    graph = Graph()
    left, right, top, bottom = bright_box(graph, layout, 255 if type == "uint8" else 1)
    half = graph.constant(np.float32(0.5))
    parts = [graph.node("Mul", graph.node("Add", a, b), half)
             for a, b in ((left, right), (top, bottom))]
    parts += [graph.node("Sub", right, left), graph.node("Sub", bottom, top)]
    parts.append(graph.constant(np.array([[0.9]], np.float32)))
    flat = graph.node("Concat", *parts, axis=1)
    column = graph.node("Unsqueeze", flat, graph.constant(np.array([2], np.int64)))
    many = graph.constant(np.array([1, 1, boxes if isinstance(boxes, int) else 1], np.int64))
    graph.node("Expand", column, many, output="y")
    return graph.save(
        path, [value("x", TYPES[type], *picture_dims(height, width, layout, batch))],
        [value("y", FLOAT, batch, 5, boxes)])


def corners(path: str, group: str, height: int, width: int) -> str:
    """As yolo(), with the outputs of a face detector or of SSD (group "face" or "ssd")."""
    graph = Graph()
    left, right, top, bottom = bright_box(graph, "nchw", 1)
    w, h = graph.constant(np.float32(width)), graph.constant(np.float32(height))
    x1, x2 = (graph.node("Div", edge, w) for edge in (left, right))
    y1, y2 = (graph.node("Div", edge, h) for edge in (top, bottom))
    order = (x1, y1, x2, y2) if group == "face" else (y1, x1, y2, x2)
    flat = graph.node("Concat", *order, axis=1)
    inputs = [value("x", FLOAT, 1, 3, height, width)]
    zero, one = graph.constant(np.int64([0])), graph.constant(np.int64([1]))
    if group == "face":
        graph.node("Unsqueeze", flat, one, output="boxes")
        graph.node("Unsqueeze", graph.constant(np.float32([[0.1, 0.9]])), zero, output="scores")
        return graph.save(path, inputs, [
            value("boxes", FLOAT, 1, 1, 4), value("scores", FLOAT, 1, 1, 2)])
    # The number of detections is known after a run only, as in real networks.
    some = graph.node("Cast", graph.node("ReduceMean", "x", keepdims=0), to=TensorProto.BOOL)
    count = graph.node("Cast", some, to=TensorProto.INT64)
    found = graph.node(
        "Range", graph.constant(np.int64(0)), count, graph.constant(np.int64(1)))
    graph.node("Gather", graph.node("Unsqueeze", flat, one), found, output="boxes", axis=1)
    outputs = [value("boxes", FLOAT, 1, "n", 4)]
    for name, number in (("scores", 0.9), ("classes", 0)):
        graph.node("Gather", graph.constant(np.float32([[number]])), found, output=name, axis=1)
        outputs.append(value(name, FLOAT, 1, "n"))
    graph.node("Identity", graph.constant(np.float32([1])), output="count")
    return graph.save(path, inputs, outputs + [value("count", FLOAT, 1)])


def bright_rows(path: str) -> str:
    """An output whose size is known after the run only: the positions of bright pixels."""
    graph = Graph()
    bright = graph.node("Greater", "x", graph.constant(np.float32(0.5)))
    graph.node("Transpose", graph.node("NonZero", bright), output="y", perm=[1, 0])
    return graph.save(
        path, [value("x", FLOAT, 1, 3, 16, 16)], [value("y", TensorProto.INT64, "n", 4)])


def endless(path: str) -> str:
    """A Loop that would take minutes."""
    graph = Graph()
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]),
         helper.make_node("MatMul", ["state", "state"], ["next"])],
        "body",
        [value("i", TensorProto.INT64), value("go", TensorProto.BOOL),
         value("state", FLOAT, 64, 64)],
        [value("go_on", TensorProto.BOOL), value("next", FLOAT, 64, 64)])
    mean = graph.node("ReduceMean", "x", keepdims=0)
    state = graph.node("Expand", mean, graph.constant(np.array([64, 64], np.int64)))
    graph.node(
        "Loop", graph.constant(np.int64((1 << 31) - 1)), graph.constant(np.bool_(True)), state,
        output="y", body=body)
    return graph.save(path, [value("x", FLOAT, 1, 3, 8, 8)], [value("y", FLOAT, 64, 64)])


def passing(
    path: str, inputs: Sequence[Any], op: str = "Identity", has_shape: bool = True, **kw: Any
) -> str:
    """A network of one node. Its output is like its input."""
    graph = Graph()
    graph.node(op, *[i.name for i in inputs], output="y")
    tensor = inputs[0].type.tensor_type
    dims = [d.dim_value for d in tensor.shape.dim] if has_shape else []
    return graph.save(path, inputs, [value("y", tensor.elem_type, *dims)], **kw)


def faces(source: str, path: str) -> None:
    """Makes a network for ultralightfacedetectortensordec of one of BlazeFace, whose outputs
    are scores and boxes of 512 fine and 384 coarse anchors, from their middles, in pixels.
    """
    model = onnx.load(source)
    fine, coarse, fine_boxes, coarse_boxes = (output.name for output in model.graph.output)
    size = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    graph = Graph()
    logits = graph.node("Concat", fine, coarse, axis=1)
    face = graph.node("Sigmoid", logits)
    other = graph.node("Sub", graph.constant(np.float32(1)), face)
    graph.node("Concat", other, face, output="scores", axis=2)
    middles = np.concatenate([
        np.repeat(np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2), n, axis=0)
        for cells, n in ((16, 2), (8, 6)) for grid in [(np.arange(cells) + 0.5) / cells]])
    boxes = graph.node("Div", graph.node("Concat", fine_boxes, coarse_boxes, axis=1),
                       graph.constant(np.float32(size)))
    offset, extent = (graph.node(
        "Slice", boxes, *(graph.constant(np.array([i], np.int64)) for i in (begin, begin + 2, 2)))
        for begin in (0, 2))
    middle = graph.node("Add", offset, graph.constant(middles[None].astype(np.float32)))
    half = graph.node("Div", extent, graph.constant(np.float32(2)))
    graph.node("Concat", *(graph.node(op, middle, half) for op in ("Sub", "Add")),
               output="boxes", axis=2)
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(graph.constants)
    del model.graph.output[:]
    model.graph.output.extend([value("boxes", FLOAT, 1, 896, 4), value("scores", FLOAT, 1, 896, 2)])
    onnx.save(model, path)


YOLO_MODELINFO = """[modelinfo]
version=1.0
group-id=yolo-v8-out

[y]
dir=output
id=yolo-v8-out
type=float32
dims=1,5,1
dims-order=col-major
"""

FACE_MODELINFO = """[modelinfo]
version=1.0
group-id=ultra-lightweight-face-detection-rfb-320-v1-variant-1-out

[boxes]
dir=output
id=ssd-mobilenet-v1-variant-1-out-boxes
type=float32
dims=1,1,4
dims-order=row-major

[scores]
dir=output
id=ultra-lightweight-face-detection-rfb-320-v1-variant-1-out-scores
type=float32
dims=1,1,2
dims-order=row-major
"""

SSD_MODELINFO = """[modelinfo]
version=1.0
group-id=ssd-mobilenet-v1-variant-1-out

[boxes]
dir=output
id=ssd-mobilenet-v1-variant-1-out-boxes
type=float32

[scores]
dir=output
id=ssd-mobilenet-v1-variant-1-out-scores
type=float32

[classes]
dir=output
id=ssd-mobilenet-v1-variant-1-out-classes
type=float32

[count]
dir=output
id=generic-variant-1-out-count
type=float32
"""
