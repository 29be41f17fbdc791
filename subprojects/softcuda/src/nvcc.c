/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcc.c: the part of nvcc's command line that PyCUDA and other programs of the
 * driver API use
 *
 *   nvcc --cubin [OPTION…] [-o FILE] FILE.cu
 *   nvcc --fatbin [OPTION…] [-o FILE] FILE.cu
 *   nvcc --ptx [OPTION…] [-o FILE] FILE.cu
 *   nvcc --preprocess [OPTION…] FILE.cu
 *   nvcc --version
 *
 * The image is FILE.cubin, FILE.fatbin or FILE.ptx. The preprocessed source is
 * standard output. Options that concern the host's compiler or a GPU are
 * ignored.
 *
 * Compiles with libnvrtc.so.13, which is in the folder of this program. The
 * preprocessor is that of the host's C++ compiler.
 */

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct program *nvrtcProgram;

/* The functions of libnvrtc that are used here. */
static struct {
  int (*create) (nvrtcProgram *, const char *, const char *, int,
      const char *const *, const char *const *);
  int (*destroy) (nvrtcProgram *);
  int (*compile) (nvrtcProgram, int, const char *const *);
  int (*log_size) (nvrtcProgram, size_t *);
  int (*log) (nvrtcProgram, char *);
  int (*image_size) (nvrtcProgram, size_t *);
  int (*image) (nvrtcProgram, char *);
} nvrtc;

typedef struct command {
  enum { NOTHING, COMPILE, PREPROCESS, VERSION } action;
  const char *suffix;
  const char *source;
  const char *output;
  const char **options;
  int n_options;
} command;

static int
fail (const char *text, const char *what)
{
  fprintf (stderr, "nvcc: %s%s\n", text, what);
  return EXIT_FAILURE;
}

static void *
check (void *pointer)
{
  if (pointer == NULL)
    exit (fail ("out of memory", ""));
  return pointer;
}

static char *
own_folder (void)
{
  char *path = check (realpath ("/proc/self/exe", NULL));

  *strrchr (path, '/') = '\0';
  return path;
}

static void *
symbol (void *library, const char *name)
{
  void *found = dlsym (library, name);

  if (found == NULL)
    exit (fail ("libnvrtc.so.13 has no ", name));
  return found;
}

static void
load_nvrtc (void)
{
  char path[PATH_MAX];
  char *folder = own_folder ();
  void *library;

  snprintf (path, sizeof path, "%s/libnvrtc.so.13", folder);
  free (folder);
  library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    exit (fail ("", dlerror ()));
  *(void **) &nvrtc.create = symbol (library, "nvrtcCreateProgram");
  *(void **) &nvrtc.destroy = symbol (library, "nvrtcDestroyProgram");
  *(void **) &nvrtc.compile = symbol (library, "nvrtcCompileProgram");
  *(void **) &nvrtc.log_size = symbol (library, "nvrtcGetProgramLogSize");
  *(void **) &nvrtc.log = symbol (library, "nvrtcGetProgramLog");
  *(void **) &nvrtc.image_size = symbol (library, "nvrtcGetCUBINSize");
  *(void **) &nvrtc.image = symbol (library, "nvrtcGetCUBIN");
}

/* Returns NULL if the file cannot be read. */
static char *
read_file (const char *path)
{
  FILE *file = fopen (path, "rb");
  char *text = NULL;
  size_t size = 0;
  size_t n;

  if (file == NULL)
    return NULL;
  do {
    text = check (realloc (text, size + BUFSIZ + 1));
    n = fread (text + size, 1, BUFSIZ, file);
    size += n;
  } while (n != 0);
  text[size] = '\0';
  fclose (file);
  return text;
}

static void
show_log (nvrtcProgram program)
{
  size_t size;
  char *log;

  if (nvrtc.log_size (program, &size) != 0)
    return;
  log = check (malloc (size));
  if (nvrtc.log (program, log) == 0)
    fputs (log, stderr);
  free (log);
}

static int
write_image (nvrtcProgram program, const char *path)
{
  FILE *file;
  size_t size;
  char *image;
  int written;

  if (nvrtc.image_size (program, &size) != 0)
    return fail ("there is no image", "");
  image = check (malloc (size));
  nvrtc.image (program, image);
  file = fopen (path, "wb");
  written = file != NULL && fwrite (image, 1, size, file) == size;
  if (file != NULL && fclose (file) != 0)
    written = 0;
  free (image);
  return written ? EXIT_SUCCESS : fail ("cannot write ", path);
}

static int
compile (const command *c)
{
  char *source = read_file (c->source);
  char path[PATH_MAX];
  nvrtcProgram program;
  int status = EXIT_FAILURE;

  if (source == NULL)
    return fail ("cannot read ", c->source);
  load_nvrtc ();
  if (nvrtc.create (&program, source, c->source, 0, NULL, NULL) != 0)
    exit (fail ("cannot compile ", c->source));
  free (source);
  if (nvrtc.compile (program, c->n_options, c->options) == 0) {
    snprintf (path, sizeof path, "%.*s%s",
        (int) (strrchr (c->source, '.') - c->source), c->source, c->suffix);
    status = write_image (program, c->output != NULL ? c->output : path);
  }
  show_log (program);
  nvrtc.destroy (&program);
  return status;
}

/* Only the options that the preprocessor knows are passed on. */
static int
preprocess (const command *c)
{
  const char *compiler = getenv ("SOFTCUDA_CXX");
  const char **arguments = check (calloc (c->n_options + 8, sizeof *arguments));
  char include[PATH_MAX];
  int n = 0;

  if (compiler == NULL || *compiler == '\0')
    compiler = "c++";
  snprintf (include, sizeof include, "-I%s", own_folder ());
  arguments[n++] = compiler;
  arguments[n++] = "-E";
  arguments[n++] = "-xc++";
  arguments[n++] = "-D__CUDACC__=1";
  arguments[n++] = include;
  for (int i = 0; i < c->n_options; i++)
    if (strncmp (c->options[i], "-I", 2) == 0
        || strncmp (c->options[i], "-D", 2) == 0
        || strncmp (c->options[i], "-U", 2) == 0)
      arguments[n++] = c->options[i];
  arguments[n++] = c->source;
  execvp (compiler, (char *const *) arguments);
  return fail ("cannot run ", compiler);
}

static int
is_source (const char *argument)
{
  const char *dot = strrchr (argument, '.');

  return argument[0] != '-' && dot != NULL && strcmp (dot, ".cu") == 0;
}

/* Returns how many words are ignored. A name that ends in a space has a
 * value. */
static int
count_ignored (const char *argument)
{
  static const char *const names[] = { "--keep", "-keep", "-m64", "-g", "-O0",
    "-O1", "-O2", "-O3", "-code ", "--gpu-code ", "-gencode ",
    "--generate-code ", "-Xcompiler ", "--compiler-options ", "-ccbin ",
    "--compiler-bindir " };

  if (strncmp (argument, "-l", 2) == 0 && strcmp (argument, "-lineinfo") != 0)
    return 1; /* a library */
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t size = strcspn (names[i], " ");
    int has_value = names[i][size] == ' ';

    if (strncmp (argument, names[i], size) != 0)
      continue;
    if (argument[size] == '\0')
      return 1 + has_value;
    if (argument[size] == '=' && has_value)
      return 1;
  }
  return 0;
}

static void
set_compile (command *c, const char *suffix)
{
  c->action = COMPILE;
  c->suffix = suffix;
}

static void
read_argument (command *c, int n, char **arguments, int *i)
{
  const char *argument = arguments[*i];
  int n_ignored = count_ignored (argument);

  if (strcmp (argument, "--version") == 0 || strcmp (argument, "-V") == 0)
    c->action = VERSION;
  else if (strcmp (argument, "--cubin") == 0
           || strcmp (argument, "-cubin") == 0)
    set_compile (c, ".cubin");
  else if (strcmp (argument, "--fatbin") == 0
           || strcmp (argument, "-fatbin") == 0)
    set_compile (c, ".fatbin");
  else if (strcmp (argument, "--ptx") == 0 || strcmp (argument, "-ptx") == 0)
    set_compile (c, ".ptx");
  else if (strcmp (argument, "--preprocess") == 0
           || strcmp (argument, "-E") == 0)
    c->action = PREPROCESS;
  else if (strcmp (argument, "-o") == 0 && *i + 1 < n)
    c->output = arguments[++*i];
  else if (n_ignored != 0)
    *i += n_ignored - 1;
  else if (is_source (argument))
    c->source = argument;
  else
    c->options[c->n_options++] = argument;
}

int
main (int argc, char **argv)
{
  command c = { NOTHING, NULL, NULL, NULL, NULL, 0 };
  int status;

  c.options = check (calloc (argc + 2, sizeof *c.options));
  c.options[c.n_options++] = "-DSOFTCUDA_NVCC";
  c.options[c.n_options++] = "-default-device";
  for (int i = 1; i < argc; i++)
    read_argument (&c, argc, argv, &i);
  if (c.action == VERSION) {
    puts ("nvcc: softcuda's NVRTC, release 13.0, V13.0.0");
    return EXIT_SUCCESS;
  }
  if (c.action == NOTHING || c.source == NULL)
    return fail (
        "only --cubin, --fatbin, --ptx, --preprocess and --version are known "
        "here",
        "");
  if (c.action == PREPROCESS)
    return preprocess (&c);
  status = compile (&c);
  free (c.options);
  return status;
}
