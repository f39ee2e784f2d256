import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { Command } from 'commander'
import { wireLimits } from '@flotilla/protocol/limits'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { formatBytes } from '../terminal/format.ts'

export function addPutCommand(program: Command, deps: CliDeps): void {
  program
    .command('put')
    .description('Copies a file of this machine below /data of an agent.')
    .argument('<agent>', 'id of the agent')
    .argument('<file>', 'file of this machine')
    .argument('[path]', 'target below /data; default: the name of the file')
    .addHelpText('after', '\nExample:\n  $ flotilla put auditor package-lock.json input/package-lock.json')
    .action(commandAction(deps, put))
}

async function put(context: CommandContext, line: CommandLine): Promise<void> {
  const file = operand(line, 1)
  const path = line.operands[2] ?? basename(file)
  refuseFolded(path)
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandFailed('file-unreadable', {
      detail: `${file} cannot be read: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: 'Check the path and its permissions. flotilla put AGENT FILE reads a file on this machine.',
    })
  })
  if (bytes.length > wireLimits.uploadMaxBytes) {
    throw new CommandFailed('file-too-large', {
      detail: `${file} has ${formatBytes(bytes.length)}; an upload may have at most ${formatBytes(wireLimits.uploadMaxBytes)}.`,
      repair: 'Compress the file, or upload it in parts.',
    })
  }
  const reply = await (
    await context.mesh()
  ).call('fileWrite', {
    params: { id: operand(line, 0), path },
    bytes: new Uint8Array(bytes),
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.print(`/data/${reply.path.replace(/^\/?(data\/)?/, '')}: ${formatBytes(reply.size)}`)
}

/** Rejects `.` and `..`: URL normalization would remove them, and the request would reach another endpoint. */
function refuseFolded(path: string): void {
  const parts = path.replace(/^\//, '').split('/')
  if (!parts.some((part) => part === '..' || part === '.' || part === '')) return
  throw new Problem('path-refused', {
    detail: `${path} is not a path below /data: it has a part that is empty, . or ..`,
  })
}
