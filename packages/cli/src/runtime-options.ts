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

/** Adds the options for the runtime of agents and for its cluster. */
export function addRuntimeOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--runtime <name>',
        'how agents are run: containers of this machine (docker), pods of a cluster (kubernetes), or plain processes without isolation (process)',
      ).choices(runtimeNames),
    )
    .option('--context <name>', 'the cluster, by its name in the kubeconfig; means --runtime kubernetes')
    .option('--namespace <name>', 'namespace in the cluster; created if missing; means --runtime kubernetes')
}

export function askedRuntime(line: CommandLine): AskedRuntime {
  const named = textOption(line, 'runtime') as RuntimeName | undefined // commander checked the choice
  const cluster = { context: textOption(line, 'context'), namespace: textOption(line, 'namespace') }
  const isCluster = cluster.context !== undefined || cluster.namespace !== undefined
  if (isCluster && named !== undefined && named !== 'kubernetes') {
    throw new CommandFailed('usage', {
      detail: `--context and --namespace select a cluster, but --runtime ${named} does not use one.`,
      repair: 'Leave them out, or use --runtime kubernetes.',
      exitCode: exitCodes.usage,
    })
  }
  return { runtime: named ?? (isCluster ? 'kubernetes' : undefined), cluster }
}

/** Returns the same options for the mesh's program. Pure. */
export function runtimeWords({ runtime, cluster }: Partial<AskedRuntime>): readonly string[] {
  return [
    ...(runtime === undefined ? [] : ['--runtime', runtime]),
    ...(cluster?.context === undefined ? [] : ['--context', cluster.context]),
    ...(cluster?.namespace === undefined ? [] : ['--namespace', cluster.namespace]),
  ]
}
