import { SandboxError } from '../sandbox-error.ts'

/**
 * Runs in the pod of an agent, as the agent's own user: stops every other process, writes the marker, and
 * only then starts the program whose output is read. It runs with the image's `node`, which is executable
 * but not readable (mode 0711). The kernel therefore protects its open files from processes of the same
 * user, so none of them can write into this output before all are stopped; a shell has no such protection.
 * The kernel does not stop the pod's first process, which does not belong to the agent. The script ends
 * last, so the stopped processes continue even if the reader is gone: the program then ends at its next
 * write.
 */
const script = `
const [marker, program, ...args] = process.argv.slice(1)
const signal = (name) => { try { process.kill(-1, name) } catch (error) { if (error.code !== 'ESRCH') throw error } }
signal('SIGSTOP')
try {
  require('node:fs').writeSync(1, marker)
  const { status } = require('node:child_process').spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  process.exitCode = status ?? 2
} finally {
  signal('SIGCONT')
}
`

/** Runs `command` while everything else in the pod is held; its output begins with the marker. Pure. */
export function heldCommand(marker: string, command: readonly string[]): readonly string[] {
  return ['/usr/local/bin/node', '--max-semi-space-size=1', '-e', script, '--', marker, ...command]
}

/** The output after the marker. Rejects with `data-unread` if the output starts with anything else. */
export async function* afterMarker(
  output: AsyncIterable<Uint8Array>,
  marker: string,
): AsyncGenerator<Uint8Array> {
  const wanted = Buffer.from(marker)
  let head = Buffer.alloc(0)
  let isSeen = false
  for await (const piece of output) {
    if (isSeen) {
      yield piece
      continue
    }
    head = Buffer.concat([head, piece])
    const compared = Math.min(head.length, wanted.length)
    if (!head.subarray(0, compared).equals(wanted.subarray(0, compared))) throw notOurs()
    if (head.length < wanted.length) continue
    isSeen = true
    if (head.length > wanted.length) yield head.subarray(wanted.length)
  }
  if (!isSeen) throw notOurs()
}

function notOurs(): SandboxError {
  return new SandboxError(
    'data-unread',
    'What came from the pod does not begin with the marker of the mesh: a process of the pod may have written into it.\nRepair: try it again; where it stays so, stop the agent first.',
  )
}
