/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * global.c: the variables of a module
 *
 * The image of a module hides the names of its variables from the linker. This
 * file reads them from the image's symbol table. A variable whose address was
 * requested is a range of device memory until the module is unloaded. Knows
 * nothing of kernels.
 */

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "module.h"

typedef struct {
  const unsigned char *bytes;
  size_t size;
} image_file;

static bool
map_image (int fd, image_file *file)
{
  struct stat status;
  void *bytes;

  if (fstat (fd, &status) != 0 || status.st_size < (off_t) sizeof (Elf64_Ehdr))
    return false;
  bytes = mmap (NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED)
    return false;
  file->bytes = bytes;
  file->size = status.st_size;
  return true;
}

/* Returns NULL if the file does not have these bytes. */
static const void *
file_range (const image_file *file, uint64_t offset, uint64_t size)
{
  if (offset > file->size || size > file->size - offset)
    return NULL;
  return file->bytes + offset;
}

static const Elf64_Shdr *
find_symbol_table (const image_file *file, const Elf64_Shdr **sections)
{
  const Elf64_Ehdr *header = (const void *) file->bytes;

  *sections = file_range (
      file, header->e_shoff, (uint64_t) header->e_shnum * sizeof (Elf64_Shdr));
  if (*sections == NULL || header->e_shentsize != sizeof (Elf64_Shdr))
    return NULL;
  for (unsigned int i = 0; i < header->e_shnum; i++)
    if ((*sections)[i].sh_type == SHT_SYMTAB
        && (*sections)[i].sh_link < header->e_shnum)
      return &(*sections)[i];
  return NULL;
}

static const Elf64_Sym *
find_symbol (const image_file *file, const char *name)
{
  const Elf64_Shdr *sections;
  const Elf64_Shdr *table = find_symbol_table (file, &sections);
  const Elf64_Shdr *names;
  const Elf64_Sym *symbols;
  const char *strings;

  if (table == NULL)
    return NULL;
  names = &sections[table->sh_link];
  symbols = file_range (file, table->sh_offset, table->sh_size);
  strings = file_range (file, names->sh_offset, names->sh_size);
  if (symbols == NULL || strings == NULL || names->sh_size == 0
      || strings[names->sh_size - 1] != '\0')
    return NULL;
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
    if (ELF64_ST_TYPE (symbols[i].st_info) == STT_OBJECT
        && symbols[i].st_size != 0 && symbols[i].st_name < names->sh_size
        && strcmp (strings + symbols[i].st_name, name) == 0)
      return &symbols[i];
  return NULL;
}

/* The compiler changes the names of static variables. */
static const Elf64_Sym *
find_variable (const image_file *file, const char *name)
{
  const Elf64_Sym *symbol = find_symbol (file, name);
  char *changed;

  if (symbol != NULL
      || asprintf (&changed, "_ZL%zu%s", strlen (name), name) == -1)
    return symbol;
  symbol = find_symbol (file, changed);
  free (changed);
  return symbol;
}

static CUresult
locate (CUmodule module, const char *name, uintptr_t *address, size_t *size)
{
  const Elf64_Sym *symbol;
  struct link_map *map;
  image_file file;

  if (dlinfo (module->library, RTLD_DI_LINKMAP, &map) != 0
      || !map_image (module->fd, &file))
    return CUDA_ERROR_OPERATING_SYSTEM;
  symbol = find_variable (&file, name);
  if (symbol != NULL) {
    *address = map->l_addr + symbol->st_value;
    *size = symbol->st_size;
  }
  munmap ((void *) file.bytes, file.size);
  return symbol != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The first call registers the variable as a range. */
static CUresult
publish_locked (CUmodule module, uintptr_t address, size_t size)
{
  sc_range range = { address, size, SC_RANGE_GLOBAL, module->handle.context,
    NULL, 0 };
  uintptr_t *grown;
  CUresult result;

  if (sc_range_find_locked (address) != NULL)
    return CUDA_SUCCESS;
  grown = realloc (
      module->globals, (module->n_globals + 1) * sizeof *module->globals);
  if (grown == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  module->globals = grown;
  result = sc_range_add_locked (&range);
  if (result == CUDA_SUCCESS)
    module->globals[module->n_globals++] = address;
  return result;
}

void
sc_module_forget_globals_locked (CUmodule module)
{
  for (size_t i = 0; i < module->n_globals; i++)
    sc_range_remove_locked (module->globals[i]);
  free (module->globals);
  module->globals = NULL;
  module->n_globals = 0;
}

CUresult
cuModuleGetGlobal_v2 (
    CUdeviceptr *pointer, size_t *size, CUmodule module, const char *name)
{
  uintptr_t address;
  size_t bytes;
  CUresult result;

  SC_ENTER (cuModuleGetGlobal);
  if (name == NULL || (pointer == NULL && size == NULL))
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_handle_is_live_locked (module, SC_KIND_MODULE)
               ? locate (module, name, &address, &bytes)
               : CUDA_ERROR_INVALID_HANDLE;
  if (result == CUDA_SUCCESS)
    result = publish_locked (module, address, bytes);
  sc_unlock ();
  if (result != CUDA_SUCCESS)
    return result;
  if (pointer != NULL)
    *pointer = address;
  if (size != NULL)
    *size = bytes;
  return CUDA_SUCCESS;
}
