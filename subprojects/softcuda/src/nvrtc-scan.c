/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-scan.c: finds the kernels, and rewrites code that macros cannot rewrite
 *
 * Reads preprocessed CUDA C token by token. It only knows braces, namespaces
 * and declarations. Line numbers do not change. Code that it does not
 * understand is left unchanged for the compiler.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nvrtc-private.h"

/* Deeper braces and namespaces are only counted. */
#define MAX_DEPTH 64

/* The number of bytes that are searched after `__global__` or `extern`. It is
 * larger than the head of a declaration. The limit keeps the time linear in the
 * size of the source. */
#define MAX_HEAD 1024

typedef enum token_kind {
  TOKEN_END,
  TOKEN_SPACE, /* and line markers, and pragmas */
  TOKEN_WORD,
  TOKEN_LITERAL, /* strings, characters, numbers */
  TOKEN_SIGN     /* one character */
} token_kind;

typedef struct token {
  token_kind kind;
  const char *start;
  size_t size;
} token;

/* More variables in one scope are left unchanged. */
#define MAX_LOCKSTEP 32

/* The scope that a brace opened. */
typedef struct scope {
  bool is_open; /* a namespace or extern "C": its inside is file scope */
  bool is_loop;
  int n_places;     /* before the brace */
  size_t path_size; /* of the path before the brace */
} scope;

/* A pointer to volatile memory, or an array of it. */
typedef struct lockstep {
  token name;
  int depth; /* of the scope in which it is known */
} lockstep;

typedef struct scanner {
  rt_scan *scan;
  const char *at;
  const char *end;
  scope scopes[MAX_DEPTH];
  int depth;
  bool has_shared; /* the source has shared memory */
  lockstep locksteps[MAX_LOCKSTEP];
  int n_locksteps;
  int n_places;      /* at which a warp waits for its lanes */
  const char *loop;  /* the brace that opens the body of the next loop */
  int n_closed;      /* enclosing scopes that are not open */
  rt_text path;      /* a::b:: */
  bool saw_template; /* in this declaration */
  bool saw_extern;
  bool saw_namespace;
  rt_text namespace_name;
  rt_declaration declaration; /* outside of functions and classes */
} scanner;

/* ---- tokens ---- */

static bool
is_word_start (char c)
{
  return isalpha ((unsigned char) c) || c == '_' || c == '$';
}

static bool
is_word (char c)
{
  return is_word_start (c) || isdigit ((unsigned char) c);
}

static const char *
skip_quoted (const char *at, const char *end, char quote)
{
  while (at < end && *at != quote && *at != '\n')
    at += *at == '\\' && at + 1 < end ? 2 : 1;
  return at < end ? at + 1 : end;
}

/* at: after R" */
static const char *
skip_raw_string (const char *at, const char *end)
{
  const char *open = memchr (at, '(', end - at);
  size_t size = open != NULL ? (size_t) (open - at) : 0;

  if (open == NULL)
    return end;
  for (const char *p = open; p < end; p++)
    if (*p == ')' && (size_t) (end - p) > size + 1
        && memcmp (p + 1, at, size) == 0 && p[1 + size] == '"')
      return p + size + 2;
  return end;
}

static const char *
skip_line (const char *at, const char *end)
{
  const char *newline = memchr (at, '\n', end - at);

  return newline != NULL ? newline + 1 : end;
}

static const char *
skip_space (const char *at, const char *end)
{
  while (at < end && isspace ((unsigned char) *at))
    at++;
  if (at < end && *at == '#')
    at = skip_line (at, end);
  return at;
}

static const char *
skip_number (const char *at, const char *end)
{
  while (at < end
         && (is_word (*at) || *at == '.'
             || (*at == '\'' && at + 1 < end && is_word (at[1]))
             || ((*at == '+' || *at == '-') && strchr ("eEpP", at[-1]))))
    at++;
  return at;
}

static token
literal_or_word (const char *start, const char *end)
{
  const char *at = start;

  while (at < end && is_word (*at))
    at++;
  if (at < end && *at == '"' && at[-1] == 'R')
    return (
        token){ TOKEN_LITERAL, start, skip_raw_string (at + 1, end) - start };
  if (at < end && (*at == '"' || *at == '\'') && at - start <= 2
      && strchr ("uUL8", at[-1]) != NULL)
    return (
        token){ TOKEN_LITERAL, start, skip_quoted (at + 1, end, *at) - start };
  return (token){ TOKEN_WORD, start, at - start };
}

static token
read_token (const char *at, const char *end)
{
  if (at == end)
    return (token){ TOKEN_END, at, 0 };
  if (isspace ((unsigned char) *at) || *at == '#')
    return (token){ TOKEN_SPACE, at, skip_space (at, end) - at };
  if (is_word_start (*at))
    return literal_or_word (at, end);
  if (*at == '"' || *at == '\'')
    return (token){ TOKEN_LITERAL, at, skip_quoted (at + 1, end, *at) - at };
  if (isdigit ((unsigned char) *at))
    return (token){ TOKEN_LITERAL, at, skip_number (at + 1, end) - at };
  return (token){ TOKEN_SIGN, at, 1 };
}

static token
next_token (scanner *s)
{
  token t = read_token (s->at, s->end);

  s->at = t.start + t.size;
  return t;
}

static bool
is_text (const token *t, const char *text)
{
  return t->size == strlen (text) && memcmp (t->start, text, t->size) == 0;
}

static bool
is_sign (const token *t, char sign)
{
  return t->kind == TOKEN_SIGN && *t->start == sign;
}

/* The next token from `at` on that is not a space. */
static token
peek (const char *at, const char *end)
{
  token t = read_token (at, end);

  while (t.kind == TOKEN_SPACE)
    t = read_token (t.start + t.size, end);
  return t;
}

/* at: after an opening parenthesis, bracket or brace */
static const char *
skip_balanced (const char *at, const char *end)
{
  int depth = 1;

  while (depth > 0) {
    token t = read_token (at, end);

    if (t.kind == TOKEN_END)
      return end;
    if (t.kind == TOKEN_SIGN && strchr ("([{", *t.start) != NULL)
      depth++;
    else if (t.kind == TOKEN_SIGN && strchr (")]}", *t.start) != NULL)
      depth--;
    at = t.start + t.size;
  }
  return at;
}

/* ---- output ---- */

static void
put (scanner *s, const char *start, size_t size)
{
  rt_text_add (&s->scan->text, start, size);
}

static void
put_text (scanner *s, const char *text)
{
  put (s, text, strlen (text));
}

/* ---- kernels ---- */

static bool
is_attribute (const token *word)
{
  static const char *const names[] = { "__attribute__", "__attribute",
    "alignas", "__launch_bounds__", "__cluster_dims__", "decltype",
    "__declspec" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (is_text (word, names[i]))
      return true;
  return false;
}

/* The name of the kernel: the word before the parameters, after __global__. */
static bool
find_kernel_name (const char *at, const char *end, token *name)
{
  token word = { TOKEN_END, NULL, 0 };

  for (;;) {
    token t = peek (at, end);

    at = t.start + t.size;
    if (t.kind == TOKEN_WORD) {
      word = t;
      continue;
    }
    if (is_sign (&t, '[')) {
      at = skip_balanced (at, end);
      continue;
    }
    if (!is_sign (&t, '('))
      return false;
    if (word.kind != TOKEN_WORD)
      return false;
    if (!is_attribute (&word)) {
      *name = word;
      return true;
    }
    at = skip_balanced (at, end);
  }
}

static bool
is_known (const rt_strings *kernels, const token *name)
{
  for (int i = 0; i < kernels->n; i++)
    if (is_text (name, kernels->item[i]))
      return true;
  return false;
}

static const char *
end_of_head (const scanner *s)
{
  return s->end - s->at > MAX_HEAD ? s->at + MAX_HEAD : s->end;
}

static void
note_kernel (scanner *s)
{
  token name;

  if (s->saw_template || s->n_closed != 0
      || !find_kernel_name (s->at, end_of_head (s), &name)
      || is_known (&s->scan->kernels, &name))
    return;
  rt_strings_add (&s->scan->kernels, name.start, name.size);
  rt_strings_print (&s->scan->kernel_paths, "%s%.*s",
      s->path.size != 0 ? s->path.data : "", (int) name.size, name.start);
}

/* ---- variables ---- */

/* Whether the declaration that goes on at `at` is one of a variable. */
static bool
is_variable (const char *at, const char *end)
{
  token word = { TOKEN_END, NULL, 0 };

  for (;;) {
    token t = peek (at, end);

    at = t.start + t.size;
    if (t.kind == TOKEN_WORD) {
      word = t;
    } else if (is_sign (&t, '(')) {
      if (word.kind != TOKEN_WORD || !is_attribute (&word))
        return false;
      at = skip_balanced (at, end);
    } else if (t.kind == TOKEN_END || t.kind == TOKEN_SIGN) {
      if (t.kind == TOKEN_END || strchr (";=[{", *t.start) != NULL)
        return t.kind != TOKEN_END && word.kind == TOKEN_WORD;
    }
  }
}

/* The host writes to variables of which the compiler does not know: it must not
 * assume that they keep their first values, nor remove them. */
static void
rewrite_space (scanner *s)
{
  if (s->n_closed == 0 && is_variable (s->at, end_of_head (s)))
    put_text (s, "__attribute__ ((used))");
}

/* ---- volatile memory ---- */

/* Older kernels exchange data within a warp through volatile shared memory, and
 * expect the lanes to run in lock-step. A GPU runs them so as long as they do
 * not diverge. So every use of a variable of a function that is declared as
 * `volatile T *name` or `volatile T name[…]` waits for the other lanes. */

/* Called after `volatile`. Finds the name of such a variable, and the sign
 * behind it. */
static bool
find_volatile (const char *at, const char *end, token *name, char *sign)
{
  bool is_pointer = false;
  int n_words = 0;

  for (;;) {
    token t = peek (at, end);

    at = t.start + t.size;
    if (t.kind == TOKEN_WORD) {
      *name = t;
      n_words++;
    } else if (is_sign (&t, '*') && !is_pointer) {
      is_pointer = true;
      n_words = 0;
    } else if (t.kind != TOKEN_SIGN || strchr (":<>", *t.start) == NULL) {
      *sign = *t.start;
      return t.kind == TOKEN_SIGN
             && (is_pointer ? n_words > 0 && strchr ("=;,){[", *sign) != NULL
                            : n_words > 1 && *sign == '[');
    }
  }
}

/* A parameter is known in the body of its function. */
static void
note_volatile (scanner *s)
{
  lockstep *l = &s->locksteps[s->n_locksteps];
  char sign;

  if (!s->has_shared || s->n_locksteps == MAX_LOCKSTEP
      || !find_volatile (s->at, end_of_head (s), &l->name, &sign))
    return;
  l->depth = s->depth + (sign == ')' || sign == ',');
  if (l->depth > s->depth || s->n_closed != 0)
    s->n_locksteps++;
}

/* Whether the word is a use of such a variable, and not a member of the same
 * name. */
static bool
is_lockstep (const scanner *s, const token *word)
{
  const char *before = word->start;
  bool is_known = false;

  for (int i = 0; i < s->n_locksteps && !is_known; i++) {
    const token *name = &s->locksteps[i].name;

    is_known = name->size == word->size && name->start < word->start
               && memcmp (name->start, word->start, name->size) == 0;
  }
  while (is_known && isspace ((unsigned char) before[-1]))
    before--;
  return is_known && before[-1] != '.' && memcmp (before - 2, "->", 2) != 0
         && memcmp (before - 2, "::", 2) != 0;
}

/* The places have the order of the source: see release_active() in warp.c. */
static void
put_lockstep (scanner *s, const token *word)
{
  rt_text_print (&s->scan->text, "softcuda_lockstep<%d> (%.*s)", ++s->n_places,
      (int) word->size, word->start);
}

/* Called after `for`, `while` or `do`. */
static void
note_loop (scanner *s)
{
  const char *end = end_of_head (s);
  token t = peek (s->at, end);

  if (is_sign (&t, '('))
    t = peek (skip_balanced (t.start + 1, end), end);
  if (is_sign (&t, '{'))
    s->loop = t.start;
}

/* Lanes that have diverged meet again at the end of the body of a loop. */
static void
end_loop (scanner *s, const scope *body)
{
  if (body->is_loop && body->n_places != s->n_places)
    rt_text_print (&s->scan->text, "softcuda_meet<%d> (); ", ++s->n_places);
}

static void
forget_locksteps (scanner *s)
{
  while (
      s->n_locksteps > 0 && s->locksteps[s->n_locksteps - 1].depth > s->depth)
    s->n_locksteps--;
}

/* ---- dynamic shared memory ---- */

/* extern __shared__ TYPE NAME[]REST; */
typedef struct dynamic {
  rt_text type;
  token name;
  rt_text rest;    /* in one line */
  const char *end; /* after the semicolon */
} dynamic;

static bool
parse_dynamic (const char *at, const char *end, dynamic *d)
{
  bool shared = false;
  token close;

  d->name = (token){ TOKEN_END, NULL, 0 };
  for (;;) {
    token t = peek (at, end);

    at = t.start + t.size;
    if (is_sign (&t, '['))
      break;
    if (t.kind != TOKEN_WORD && !is_sign (&t, ':') && !is_sign (&t, '<')
        && !is_sign (&t, '>') && !is_sign (&t, ','))
      return false;
    if (is_text (&t, "extern")) /* the next declaration */
      return false;
    if (is_text (&t, "__shared__")) {
      shared = true;
      continue;
    }
    if (t.kind == TOKEN_WORD && is_attribute (&t)) {
      token open = peek (at, end);

      if (is_sign (&open, '('))
        at = skip_balanced (open.start + 1, end);
      continue;
    }
    if (d->name.kind != TOKEN_END)
      rt_text_print (&d->type, "%.*s ", (int) d->name.size, d->name.start);
    d->name = t;
  }
  if (!shared || d->name.kind != TOKEN_WORD || d->type.size == 0)
    return false;
  close = peek (at, end);
  if (!is_sign (&close, ']'))
    return false;
  at = close.start + 1;
  rt_text_add (&d->rest, "", 0);
  for (; at < end && *at != ';'; at++)
    rt_text_add (&d->rest, *at == '\n' ? " " : at, 1);
  d->end = at < end ? at + 1 : end;
  return true;
}

/* Types of the form `a::b` are several tokens. A space between them is allowed,
 * but `::` must not be divided. */
static void
join_colons (rt_text *type)
{
  char *at;

  while ((at = strstr (type->data, ": :")) != NULL) {
    memmove (at + 1, at + 2, type->size - (at + 2 - type->data) + 1);
    type->size--;
  }
}

static void
put_dynamic (scanner *s, const dynamic *d)
{
  const char *type = d->type.data;
  const char *rest = d->rest.data;
  const char *name = d->name.start;
  int size = (int) d->name.size;
  rt_text *text = &s->scan->text;

  if (type == NULL || rest == NULL)
    return;
  if (s->n_closed != 0) {
    rt_text_print (text,
        "%s(*const %.*s)%s = (%s(*)%s) softcuda_dynamic_shared ();", type, size,
        name, rest, type, rest);
    return;
  }
  rt_text_print (text,
      "static thread_local %s(*%.*s)%s; static softcuda_dynamic "
      "softcuda_dynamic_%.*s ([] (void *p) { %.*s = (%s(*)%s) p; });",
      type, size, name, rest, size, name, size, name, type, rest);
}

/* Called at `extern`. Returns whether this is a declaration of dynamic shared
 * memory, which was rewritten. */
static bool
rewrite_dynamic (scanner *s, const token *word)
{
  dynamic d;
  bool found;

  memset (&d, 0, sizeof d);
  found = parse_dynamic (s->at, end_of_head (s), &d);
  if (found) {
    join_colons (&d.type);
    put_dynamic (s, &d);
    for (const char *p = word->start; p < d.end; p++)
      if (*p == '\n')
        put (s, "\n", 1);
    s->at = d.end;
  }
  rt_text_clear (&d.type);
  rt_text_clear (&d.rest);
  return found;
}

/* ---- special registers ---- */

/* Those that device/softcuda_warp.h has. */
static bool
is_register (const char *name)
{
  static const char *const names[] = { "laneid", "warpid", "lanemask_eq",
    "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "clock",
    "clock64", "globaltimer" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp (name, names[i]) == 0)
      return true;
  return false;
}

/* Called at `asm`. Makes a call of asm ("mov.u32 %0, %%laneid;" : "=r"(x)),
 * which reads a special register into x. All other inline PTX is left to the
 * compiler, which refuses it. */
static bool
rewrite_asm (scanner *s, const token *word)
{
  token t = peek (s->at, s->end);
  const char *start;
  const char *end;
  char name[32] = "";

  if (is_text (&t, "volatile") || is_text (&t, "__volatile__"))
    t = peek (t.start + t.size, s->end);
  if (!is_sign (&t, '('))
    return false;
  t = peek (t.start + 1, s->end);
  if (t.kind != TOKEN_LITERAL
      || sscanf (t.start, "\"mov.%*[us0-9] %%0 , %%%%%31[a-z_0-9]", name) != 1
      || !is_register (name))
    return false;
  t = peek (t.start + t.size, s->end);
  if (!is_sign (&t, ':'))
    return false;
  t = peek (t.start + 1, s->end); /* "=r" */
  t = peek (t.start + t.size, s->end);
  if (!is_sign (&t, '('))
    return false;
  start = t.start + 1;
  end = skip_balanced (start, s->end);
  t = peek (end, s->end);
  if (!is_sign (&t, ')'))
    return false;
  rt_text_print (&s->scan->text, "((%.*s) = softcuda_register_%s ())",
      (int) (end - 1 - start), start, name);
  s->at = t.start + 1;
  for (const char *p = word->start; p < s->at; p++)
    if (*p == '\n' && (p < start || p >= end))
      put (s, "\n", 1);
  return true;
}

/* ---- scopes ---- */

static void
open_scope (scanner *s, const token *brace)
{
  scope opened = { s->saw_namespace || s->saw_extern, brace->start == s->loop,
    s->n_places, s->path.size };

  if (s->saw_namespace && s->namespace_name.size != 0) {
    rt_text_add (&s->path, s->namespace_name.data, s->namespace_name.size);
    rt_text_add (&s->path, "::", 2);
  }
  if (s->depth < MAX_DEPTH)
    s->scopes[s->depth] = opened;
  if (s->depth >= MAX_DEPTH || !opened.is_open)
    s->n_closed++;
  s->depth++;
}

static void
close_scope (scanner *s)
{
  scope *closed;

  if (s->depth == 0)
    return;
  s->depth--;
  if (s->depth >= MAX_DEPTH) {
    s->n_closed--;
    return;
  }
  closed = &s->scopes[s->depth];
  if (!closed->is_open)
    s->n_closed--;
  end_loop (s, closed);
  s->path.size = closed->path_size;
  if (s->path.data != NULL)
    s->path.data[s->path.size] = '\0';
}

static void
end_declaration (scanner *s)
{
  forget_locksteps (s);
  s->saw_template = false;
  s->saw_extern = false;
  s->saw_namespace = false;
  rt_text_clear (&s->namespace_name);
}

/* Called at the sign that ends a declaration, or the head of a function. The
 * compiler reports the fault with its line. */
static void
check_declaration (scanner *s, const token *t)
{
  const char *fault = rt_declaration_find_fault (&s->declaration);

  if (fault != NULL && s->scan->refuses_host)
    rt_text_print (
        &s->scan->text, "%c static_assert (false, \"%s\");", *t->start, fault);
  else
    put (s, t->start, t->size);
}

/* Returns whether the sign was put. */
static bool
read_declaration (scanner *s, const token *t)
{
  rt_declaration *d = &s->declaration;
  bool ends = *t->start == ';' || (*t->start == '{' && !d->has_value);

  if (s->n_closed != 0)
    return false;
  rt_declaration_add_sign (d, *t->start);
  if (!ends)
    return false;
  check_declaration (s, t);
  rt_declaration_end (d);
  return true;
}

static void
read_sign (scanner *s, const token *t)
{
  bool is_put = read_declaration (s, t);

  if (*t->start == '{')
    open_scope (s, t);
  else if (*t->start == '}')
    close_scope (s);
  if (strchr ("{};", *t->start) != NULL)
    end_declaration (s);
  else if (*t->start == ':' && s->saw_namespace)
    rt_text_add (&s->namespace_name, ":", 1);
  else if (*t->start == '(')
    s->saw_extern = false; /* extern "C" void f () { */
  if (!is_put)
    put (s, t->start, t->size);
}

static void
read_word (scanner *s, const token *t)
{
  if (s->n_closed == 0)
    rt_declaration_add_word (&s->declaration, t->start, t->size);
  if (is_text (t, "__host__"))
    return;
  if (is_text (t, "__global__")) {
    note_kernel (s);
    return;
  }
  if (is_text (t, "__shared__")) {
    put_text (s, "thread_local");
    return;
  }
  if (is_text (t, "__device__") || is_text (t, "__constant__")
      || is_text (t, "__managed__")) {
    rewrite_space (s);
    return;
  }
  if (is_lockstep (s, t)) {
    put_lockstep (s, t);
    return;
  }
  if (is_text (t, "volatile"))
    note_volatile (s);
  if (is_text (t, "for") || is_text (t, "while") || is_text (t, "do"))
    note_loop (s);
  if ((is_text (t, "asm") || is_text (t, "__asm__")) && rewrite_asm (s, t))
    return;
  if (is_text (t, "extern")) {
    if (rewrite_dynamic (s, t))
      return;
    s->saw_extern = peek (s->at, s->end).kind == TOKEN_LITERAL;
  } else if (is_text (t, "namespace")) {
    s->saw_namespace = true;
  } else if (is_text (t, "template")) {
    s->saw_template = true;
  } else if (s->saw_namespace) {
    rt_text_add (&s->namespace_name, t->start, t->size);
  }
  put (s, t->start, t->size);
}

void
rt_scan_run (rt_scan *scan, const rt_text *preprocessed)
{
  const char *user = strstr (preprocessed->data, RT_USER_CODE);
  scanner s;
  token t;

  memset (&s, 0, sizeof s);
  s.scan = scan;
  s.end = preprocessed->data + preprocessed->size;
  s.at = user != NULL ? user + strlen (RT_USER_CODE) : preprocessed->data;
  s.declaration.allows_unmarked = scan->allows_unmarked;
  s.has_shared = strstr (s.at, "__shared__") != NULL;
  put (&s, preprocessed->data,
      (user != NULL ? user : preprocessed->data) - preprocessed->data);
  while ((t = next_token (&s)).kind != TOKEN_END) {
    if (t.kind == TOKEN_WORD)
      read_word (&s, &t);
    else if (t.kind == TOKEN_SIGN)
      read_sign (&s, &t);
    else
      put (&s, t.start, t.size);
  }
  rt_text_clear (&s.path);
  rt_text_clear (&s.namespace_name);
}

void
rt_scan_clear (rt_scan *scan)
{
  rt_text_clear (&scan->text);
  rt_strings_clear (&scan->kernels);
  rt_strings_clear (&scan->kernel_paths);
}
