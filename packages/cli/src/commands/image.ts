import { resolve } from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { formatBytes } from '../terminal/format.ts'
import { watchCopy } from './backup.ts'
import { addAgentImageVerbs } from './agent-image.ts'
import { addPackageVerbs } from './packages.ts'

/** The time limit in milliseconds; the first build also builds the base image. */
const timeoutMs = 3600_000

const writtenSchema = z.looseObject({
  file: z.string(),
  reference: z.string(),
  mesh: z.optional(z.string()),
  architecture: z.string(),
  bytes: z.number(),
})

export function addImageCommand(program: Command, deps: CliDeps): void {
  const group = program
    .command('image')
    .description(
      'With a file: writes the agent image for a cluster into it, for every container runtime to load. If the cluster pulls it from a registry, set FLOTILLA_KUBERNETES_IMAGE to its name. Needs a container engine on this machine; the cluster does not need it. The verbs are about images from which agents run: with packages, and of the owner.',
    )
    .argument('<file>', 'the file to write; must not exist yet')
    .option(
      '--mesh',
      'also write the image of the mesh, for a mesh in the cluster; requires the installed package',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla image list
  $ flotilla image rebuild writer
  $ flotilla image set writer registry.example/tools@sha256:2f6a…
  $ flotilla image agent.tar
  $ ctr --namespace k8s.io images import agent.tar       on each node; or
  $ docker load --input agent.tar && docker push ...     into your registry`,
    )
    .action(commandAction(deps, image))
  addPackageVerbs(group, deps)
  addAgentImageVerbs(group, deps)
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
    'Load it on every node that runs agents, or push it to a registry that the nodes can reach.',
  )
}
