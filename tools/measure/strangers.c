/* Somebody who connects to a port and does not belong, for a while and at a rate: of tools/measure/measure_flood.py.
 *
 *   strangers PORT KIND RATE SECONDS     KIND: closing, failing or half-open
 *
 * Prints how many attempts it made. It comes from 127.0.0.2, so that it is not taken for a process of the run on
 * 127.0.0.1. failing: says a CURVE handshake (ZeroMQ RFC 26) whose box is of no key; half-open: says nothing. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_HELD = 900, GREETING_BYTES = 64, HELLO_BYTES = 202 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct sockaddr_in address_of(const char* host, int port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)port);
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

static void make_handshake(unsigned char* handshake) {
  static const unsigned char signature[] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
  static const unsigned char hello[] = {4, 200, 5, 'H', 'E', 'L', 'L', 'O', 1, 0};
  memset(handshake, 0, GREETING_BYTES + HELLO_BYTES);
  memcpy(handshake, signature, sizeof(signature));
  memcpy(handshake + GREETING_BYTES, hello, sizeof(hello));
  for (int i = GREETING_BYTES + HELLO_BYTES - 120; i < GREETING_BYTES + HELLO_BYTES; ++i) {
    handshake[i] = (unsigned char)(i * 7);
  }
}

/* What goes wrong is that the other end does not want it, or that there is no more room here: so be it. */
static int connect_to(const struct sockaddr_in* to, const unsigned char* handshake) {
  const struct sockaddr_in from = address_of("127.0.0.2", 0);
  const int stranger = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (stranger < 0) return stranger;
  if (bind(stranger, (const struct sockaddr*)&from, sizeof(from)) == 0) {
    (void)!connect(stranger, (const struct sockaddr*)to, sizeof(*to));
  }
  if (handshake) send(stranger, handshake, GREETING_BYTES + HELLO_BYTES, MSG_NOSIGNAL);
  return stranger;
}

static void end(int stranger, int at_once) {
  const struct linger reset = {1, 0};
  if (stranger < 0) return;
  if (at_once) setsockopt(stranger, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  close(stranger);
}

int main(int argc, char** argv) {
  unsigned char handshake[GREETING_BYTES + HELLO_BYTES];
  int held[MOST_HELD];
  long attempts = 0;
  if (argc != 5) return 2;
  const struct sockaddr_in to = address_of("127.0.0.1", atoi(argv[1]));
  const int fails = strcmp(argv[2], "failing") == 0, stays = strcmp(argv[2], "half-open") == 0;
  const int most = stays ? MOST_HELD : 50;
  const double rate = atof(argv[3]), seconds = atof(argv[4]), begun_s = now_s();
  make_handshake(handshake);
  for (int i = 0; i < MOST_HELD; ++i) held[i] = -1;
  for (double passed_s = 0; passed_s < seconds; passed_s = now_s() - begun_s) {
    if ((double)attempts >= passed_s * rate) {
      usleep(1000);
      continue;
    }
    int* const place = &held[attempts++ % most];
    end(*place, !fails && !stays);
    *place = connect_to(&to, fails ? handshake : NULL);
  }
  printf("%ld\n", attempts);
  return 0;
}
