# SPDX-License-Identifier: LGPL-2.1-or-later
"""Integration of vkgdr with PyCUDA.

This is the only file of the package that needs PyCUDA.
"""

from typing import Callable, List

try:
    from pycuda import driver as _driver
except ImportError as error:
    raise ImportError(
        f"vkgdr.pycuda needs PyCUDA, which cannot be imported ({error}): "
        "install the package python3-pycuda, or run: pip install pycuda"
    ) from error

from . import RawMemory, Vkgdr, VkgdrError
from ._library import lib

__all__ = ["Memory"]


def __dir__() -> List[str]:
    return __all__


class Memory(_driver.PointerHolderBase, RawMemory):
    """Memory that is freed when the object is deleted, in the CUDA context in which it was
    created. This context is kept until then, and must not be destroyed explicitly before.

    It can be the argument gpudata of pycuda.gpuarray.GPUArray. The parameters are those of
    RawMemory.
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        self._allocation = None  # for __del__(), if a call below fails
        _driver.PointerHolderBase.__init__(self)
        self._context = _driver.Context.get_current()
        if self._context is None:
            raise VkgdrError(
                "no CUDA context of PyCUDA's is current in this thread: "
                "import pycuda.autoprimaryctx, or push one"
            )
        RawMemory.__init__(self, owner, size, flags)

    def _releaser(self) -> Callable[[int], None]:
        context = self._context  # which is kept until then

        def release(handle: int) -> None:
            context.push()
            try:
                lib.vkgdr_memory_free(handle)
            finally:
                context.pop()

        return release

    def __del__(self) -> None:
        self.free()

    def get_pointer(self) -> int:
        """The device pointer, under the name that PyCUDA uses."""
        return self.device_ptr

    __int__ = __index__ = get_pointer
