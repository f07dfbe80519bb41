/* See port.h. */
#include "port.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Linux lets a server bind the port too, because both sockets have SO_REUSEADDR and ours does not
 * listen. Linux does not choose the port for a socket that asks for any free one. SO_REUSEADDR is
 * set after bind(), so that we do not share the port that another test has reserved.
 */
bool test_port_reserve(test_port *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        perror("test_port_reserve");
        if (fd >= 0)
            close(fd);
        return false;
    }
    *port = (test_port){.number = ntohs(address.sin_port), .fd = fd};
    return true;
}

void test_port_release(test_port *port) {
    if (port->number)
        close(port->fd);
    *port = (test_port){0};
}
