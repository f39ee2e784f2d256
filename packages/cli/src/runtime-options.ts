import { runtimeNames } from '@flotilla/protocol/runtime-names'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { Option } from 'commander'
import type { Command } from 'commander'
import { textOption } from './command-action.ts'
import type { CommandLine } from './command-action.ts'
import { CommandFailed } from './command-failed.ts'
import { exitCodes } from './exit-codes.ts'

export interface AskedRuntime {
  readonly runtime: RuntimeName | undefined
  readonly cluster: { readonly context: string | undefined; readonly namespace: string | undefined }
}

/** What agents are run in, and where a cluster is meant, which one. */
export function addRuntimeOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--runtime <name>',
        'how agents are run: containers of this machine (docker), pods of a cluster (kubernetes), or plain processes, which nothing isolates (process)',
      ).choices(runtimeNames),
    )
    .option('--context <name>', 'the cluster, by its name in the kubeconfig; means --runtime kubernetes')
    .option('--namespace <name>', 'where in the cluster; made if it is not there; means --runtime kubernetes')
}

export function askedRuntime(line: CommandLine): AskedRuntime {
  const named = textOption(line, 'runtime') as RuntimeName | undefined // commander checked the choice
  const cluster = { context: textOption(line, 'context'), namespace: textOption(line, 'namespace') }
  const isCluster = cluster.context !== undefined || cluster.namespace !== undefined
  if (isCluster && named !== undefined && named !== 'kubernetes') {
    throw new CommandFailed('usage', {
      detail: `--context and --namespace say where in a cluster agents live, and --runtime ${named} has none.`,
      repair: 'Leave them out, or say --runtime kubernetes.',
      exitCode: exitCodes.usage,
    })
  }
  return { runtime: named ?? (isCluster ? 'kubernetes' : undefined), cluster }
}

/** The same for the mesh's program. Pure. */
export function runtimeWords({ runtime, cluster }: Partial<AskedRuntime>): readonly string[] {
  return [
    ...(runtime === undefined ? [] : ['--runtime', runtime]),
    ...(cluster?.context === undefined ? [] : ['--context', cluster.context]),
    ...(cluster?.namespace === undefined ? [] : ['--namespace', cluster.namespace]),
  ]
}
