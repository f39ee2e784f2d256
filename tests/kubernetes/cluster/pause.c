/* The first process of every pod: it holds the namespaces and takes in orphans. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number) { _exit(0); }

static void reap(int number) {
  while (waitpid(-1, 0, WNOHANG) > 0) {}
}

int main(void) {
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
