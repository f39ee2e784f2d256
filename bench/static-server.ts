import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../packages/fleet/src/sandbox/run-command.ts'

/** A program that needs nothing of the image except the kernel. */
export interface StaticServer {
  readonly label: string
  readonly binary: string
  /** The command that runs it in the container, with the binary at `path`. */
  command(path: string): readonly string[]
}

const compileTimeoutMs = 60_000
const staticBusybox = '/bin/busybox'

/**
 * Compiles a few lines of C if a compiler exists, and otherwise uses Debian's static busybox. Rejects with what to
 * install.
 */
export async function makeStaticServer(folder: string): Promise<StaticServer> {
  const binary = join(folder, 'static-server')
  const source = join(import.meta.dirname, 'static-server.c')
  const compiled = await runCommand('gcc', ['-static', '-O2', '-s', '-o', binary, source], {
    timeoutMs: compileTimeoutMs,
  })
  if (compiled.code === 0) return { label: 'static C server', binary, command: (path) => [path, '8400'] }
  try {
    await copyFile(staticBusybox, binary)
  } catch (cause) {
    throw new Error('no floor to measure against: apt-get install -y gcc libc6-dev (or busybox-static)', {
      cause,
    })
  }
  return {
    label: 'static busybox httpd',
    binary,
    // It answers 404 for missing files, so it gets a folder that contains the requested path.
    command: (path) => [
      path,
      'sh',
      '-c',
      'mkdir /tmp/www && echo idle > /tmp/www/status && exec "$0" httpd -f -p 8400 -h /tmp/www',
      path,
    ],
  }
}
