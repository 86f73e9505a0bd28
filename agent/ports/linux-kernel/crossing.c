// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Files for the cost of a system call on its way into the kernel and on its way
 * out. A file operation takes its first stamp before anything else and its last
 * stamp right before it returns. The operations of the other file do nothing,
 * which gives the cost of both ways without a stamp inside.
 */
#include <linux/anon_inodes.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "kernmark.h"

static char bytes[PORT_CROSSING_BYTES];

static notrace long stamped_ioctl(struct file *file, unsigned int number,
				  unsigned long argument)
{
	port_crossing.in = port_now();
	port_crossing.out = port_now();
	return 0;
}

static notrace loff_t stamped_seek(struct file *file, loff_t to, int whence)
{
	port_crossing.in = port_now();
	port_crossing.out = port_now();
	return 0;
}

/* On their own, so that the stamp comes before the caller saves registers. */
static noinline notrace ssize_t copy_out(char __user *to, size_t n)
{
	unsigned long missed = copy_to_user(to, bytes, min(n, sizeof(bytes)));

	port_crossing.out = port_now();
	return missed ? -EFAULT : (ssize_t)n;
}

static noinline notrace ssize_t copy_in(const char __user *from, size_t n)
{
	unsigned long missed = copy_from_user(bytes, from, min(n, sizeof(bytes)));

	port_crossing.out = port_now();
	return missed ? -EFAULT : (ssize_t)n;
}

static notrace ssize_t stamped_read(struct file *file, char __user *to, size_t n,
				    loff_t *at)
{
	port_crossing.in = port_now();
	return copy_out(to, n);
}

static notrace ssize_t stamped_write(struct file *file, const char __user *from,
				     size_t n, loff_t *at)
{
	port_crossing.in = port_now();
	return copy_in(from, n);
}

static const struct file_operations stamped = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = stamped_ioctl,
	.llseek = stamped_seek,
	.read = stamped_read,
	.write = stamped_write,
};

static notrace long null_ioctl(struct file *file, unsigned int number,
			       unsigned long argument)
{
	return 0;
}

static notrace loff_t null_seek(struct file *file, loff_t to, int whence)
{
	return 0;
}

static notrace ssize_t null_read(struct file *file, char __user *to, size_t n,
				 loff_t *at)
{
	return (ssize_t)n;
}

static notrace ssize_t null_write(struct file *file, const char __user *from,
				  size_t n, loff_t *at)
{
	return (ssize_t)n;
}

static const struct file_operations null = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = null_ioctl,
	.llseek = null_seek,
	.read = null_read,
	.write = null_write,
};

int kernel_crossing_file(bool with_stamps)
{
	int number = get_unused_fd_flags(O_CLOEXEC);
	struct file *file;

	if (number < 0)
		return number;
	file = anon_inode_getfile("kernmark", with_stamps ? &stamped : &null,
				  NULL, O_RDWR);
	if (IS_ERR(file)) {
		put_unused_fd(number);
		return PTR_ERR(file);
	}
	/* Before Linux 6.0 such a file cannot seek by itself. */
	file->f_mode |= FMODE_LSEEK;
	fd_install(number, file);
	return number;
}
