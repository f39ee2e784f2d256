import { resolve } from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { formatBytes } from '../terminal/format.ts'
import { watchCopy } from './backup.ts'

/** The first time it makes the base too. */
const timeoutMs = 3600_000

const writtenSchema = z.looseObject({
  file: z.string(),
  reference: z.string(),
  mesh: z.optional(z.string()),
  architecture: z.string(),
  bytes: z.number(),
})

export function addImageCommand(program: Command, deps: CliDeps): void {
  program
    .command('image')
    .description(
      'Writes the agent image for a cluster into a file, as every container runtime loads it. FLOTILLA_KUBERNETES_IMAGE names it, where it is to come from a registry. Needs the container engine of this machine; the cluster needs none of it.',
    )
    .argument('<file>', 'what is written; must not be there yet')
    .option('--mesh', 'the image of the mesh too, for a mesh in the cluster; from the installed package')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla image agent.tar
  $ ctr --namespace k8s.io images import agent.tar       on each node; or
  $ docker load --input agent.tar && docker push ...     into your registry`,
    )
    .action(commandAction(deps, image))
}

async function image(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place, environment, signal } = context
  const watched = watchCopy(context)
  const written = writtenSchema.parse(
    await askMeshProgram({
      verb: flagOption(line, 'mesh') ? 'image-with-mesh' : 'image',
      heard: watched.heard,
      home: place.home,
      extra: ['--file', resolve(operand(line, 0))],
      environment: environment.childEnvironment({}),
      signal,
      timeoutMs,
    }).finally(watched.end),
  )
  terminal.printJson(written)
  terminal.print(
    `${written.file}: ${written.reference}${written.mesh === undefined ? '' : ` and ${written.mesh}`} for ${written.architecture}, ${formatBytes(written.bytes)}.`,
    'Bring it to every node that runs agents, or into a registry that they reach.',
  )
}
