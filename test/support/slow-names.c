/*
 * Preloaded (LD_PRELOAD) into a server: while the file named in SLOW_NAMES_FILE is there, the look-up of a name that ends in
 * `.slow.example` does not end. Afterwards it fails for now (EAI_AGAIN), as if the servers of the name had not answered.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  const char *file = getenv("SLOW_NAMES_FILE");
  if (!file || !name || !strstr(name, ".slow.example"))
    return ((look_up *)dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, found);
  while (access(file, F_OK) == 0) usleep(20000);
  return EAI_AGAIN;
}
