/* The floor of what a container can be: one process, a few system calls, the same short answer to every request. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n"
    "connection: close\r\n\r\n{\"status\":\"idle\"}";

int main(int count, char **arguments) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  int on = 1;
  struct sockaddr_in address;
  char request[4096];

  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons((unsigned short)(count > 1 ? atoi(arguments[1]) : 8400));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0) return 1;
  for (;;) {
    int line = accept(listener, NULL, NULL);
    if (line < 0) continue;
    ssize_t got = read(line, request, sizeof request);
    if (got > 0) got = write(line, answer, sizeof answer - 1);
    close(line);
  }
}
