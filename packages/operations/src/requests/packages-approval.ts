import { packageListSchema } from '@flotilla/protocol/agent-packages'
import { agentIdSchema } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { quoted } from '@flotilla/protocol/shown-text'
import type { AgentPackages, AgentRegistry } from '@flotilla/fleet/agents'
import type { Resources } from '@flotilla/fleet/resources'
import { joinedList } from '@flotilla/fleet/resources'
import { packageLockSchema, packagesKey } from '@flotilla/fleet/sandbox'
import type { SettingsFile } from '@flotilla/foundation/config'
import { agentSettingsOf } from '@flotilla/foundation/config'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { ApprovalKind } from '@flotilla/work/approvals'
import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { PackageRequestTable } from './package-request-table.ts'

const argsSchema = z.strictObject({
  /** The agent whose image changes, and the agent that asks: itself or a descendant. */
  agent_id: agentIdSchema,
  asked_by: agentIdSchema,
  request_id: z.string(),
  packages: packageListSchema,
  /** Key of the whole list that the image then has. */
  list_key: z.string(),
  /** SHA-256 of the whole lock, in hex. */
  lock_sha256: z.string(),
  /** One line for each file that the image gets or that another version replaces, and each that it loses. */
  files: z.array(z.string()),
  download_bytes: z.number(),
  /** Registries of this machine's configuration; empty if the home has a lock of this list already. */
  registries: z.array(z.string()),
  reason: z.string(),
})
export type PackagesApprovalArgs = z.output<typeof argsSchema> & JsonObject

export const grantedPackagesWords =
  'The packages are in your image from your next run on, and this run goes on in it if it continues.'

/** Returns the SHA-256 of a stored lock, in hex. Pure. */
export function lockSha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * The kind of approval of packages that an agent asks for. Until a person approves the exact lock, no program of any of
 * the packages runs.
 */
export function packagesApproval(deps: {
  readonly table: Pick<PackageRequestTable, 'byId' | 'end'>
  readonly registry: Pick<AgentRegistry, 'require' | 'list'>
  readonly packages: Pick<AgentPackages, 'listWith' | 'keyOf'>
  readonly settingsFile: Pick<SettingsFile, 'current'>
  readonly grant: Resources['packages']['grant']
}): ApprovalKind {
  const { table, registry, packages } = deps

  /** Returns the whole list of the request; throws if the agent's packages changed since. */
  function listOf({ agent_id: agentId, packages: more, list_key: key }: PackagesApprovalArgs) {
    registry.require(agentId)
    const list = packages.listWith(agentId, more)
    if (packagesKey(list) === key) return list
    throw new Problem('conflict', {
      detail: `the packages of agent ${agentId} were changed since the request; request the packages again`,
    })
  }

  return {
    action: (args) => ({ do: 'act-for-self', agentId: parsed(args).asked_by }),
    describe: (args) => {
      const of = parsed(args)
      listOf(of)
      const { agent_id: agentId, asked_by: asker, files } = of
      const key = packages.keyOf(agentId)
      const sharing = registry
        .list()
        .map(({ id }) => id)
        .filter((id) => id !== agentId && key === packages.keyOf(id) && asker !== id)
      return {
        subject: agentId,
        summary: `add ${namesOf(of)} to the image of agent ${agentId}`,
        consequences: [
          `Agent ${asker} asks for it, and says: ${quoted(of.reason)}`,
          ...(asker === agentId
            ? []
            : [`${asker} and all agents that ${agentId} created use the packages of ${agentId}.`]),
          of.registries.length === 0
            ? 'This home has a lock of these packages already, which is used as it is.'
            : `Chosen from the registries that this machine uses: ${of.registries.join(', ')}.`,
          files.length === 0
            ? `The lock, with SHA-256 ${of.lock_sha256}, changes no files of the image.`
            : `The lock, with SHA-256 ${of.lock_sha256}, changes ${files.length} ${files.length === 1 ? 'file' : 'files'} of the image (${megabytes(of.download_bytes)} to download):`,
          ...files,
          `Their install scripts run in a container of the build without a network. Programs of ${agentId} can run everything in the packages, with the rights of the agent.`,
          `The image is built now; ${agentId} uses it from its next run on, and work in progress is not interrupted.`,
          ...(sharing.length === 0
            ? []
            : [`Agents that have the same packages now and do not change: ${sharing.join(', ')}.`]),
        ],
        price: 'The build uses no model.',
      }
    },
    carryOut: async (person, args, line) => {
      const of = parsed(args)
      const list = listOf(of)
      const text = table.byId(of.request_id)?.lock ?? ''
      if (lockSha256(text) !== of.lock_sha256)
        throw new Problem('approval-changed', {
          detail: 'the stored lock differs from the one that was approved; request the packages again',
        })
      const lock = jsonColumn(packageLockSchema).parse(text)
      const requireInTime = line?.requireInTime ?? (() => undefined)
      await deps.grant(person, of.agent_id, { packages: of.packages, list, lock, requireInTime })
      return grantedPackagesWords
    },
    ifCutOff: 'again',
    inBackground: true,
    // The setting is written last.
    wasDone: (args) => {
      const { agent_id: agentId, packages: more } = parsed(args)
      const own = agentSettingsOf(deps.settingsFile.current(), agentId).packages ?? {}
      return JSON.stringify(joinedList(own, {})) === JSON.stringify(joinedList(own, more))
        ? grantedPackagesWords
        : null
    },
    settled: (args) => table.end(parsed(args).request_id),
  }
}

function parsed(args: JsonObject): PackagesApprovalArgs {
  return argsSchema.parse(args) as PackagesApprovalArgs // the arguments are JSON
}

function namesOf({ packages }: Pick<PackagesApprovalArgs, 'packages'>): string {
  return Object.entries(packages)
    .flatMap(([kind, names = []]) =>
      names.map((name) => `${name} (${kind === 'toolboxes' ? 'toolbox' : kind})`),
    )
    .join(', ')
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`
}
