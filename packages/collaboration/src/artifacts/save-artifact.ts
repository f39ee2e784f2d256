import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentApi } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { InTurn } from '@flotilla/protocol/turns'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database, Resumable } from '@flotilla/foundation/storage'
import { onceOnly } from '@flotilla/foundation/storage'
import type { ArtifactFiles, StagedFile } from './artifact-files.ts'
import type { ArtifactRow, ArtifactTable } from './artifact-table.ts'

/** The maximum number of artifacts of one agent. */
const artifactsPerAgentMax = 1000
/** The maximum size of all artifacts of one agent together, in bytes. */
const totalPerAgentMaxBytes = 500 * 1024 * 1024
/** File systems limit names in bytes, and 200 characters can take 800 bytes. */
const nameMaxBytes = 240

const nameSchema = meshAgentApi.saveArtifact.request.shape.name

export interface ArtifactToSave {
  readonly name: string
  readonly contentBase64: string
  readonly description: string
  /** True if members of the agent's project may read it too. */
  readonly shared?: boolean
}

/**
 * Saves an artifact. `step` makes a repeated call safe: the bytes are identified by their digest,
 * and the row is written in the transaction that stores the answer.
 */
export type SaveArtifact = (
  caller: Caller,
  input: ArtifactToSave,
  step?: Resumable<ArtifactRow>,
) => Promise<ArtifactRow>

export interface SaveArtifactDeps {
  /** Runs saves one after the other, so that the file and the row of an artifact come from the same save. */
  readonly inTurn: InTurn
  readonly database: Database
  readonly table: ArtifactTable
  readonly files: ArtifactFiles
  readonly projectOf: (agentId: string) => string | null
  readonly guard: Guard
  readonly clock: Clock
  readonly journal: Journal
  readonly events: EventBus
  /** Called for each saved artifact, in the transaction that writes its row. */
  readonly saved: (artifact: {
    readonly agentId: string
    readonly name: string
    readonly runId: string | null
  }) => void
}

/**
 * Stores a file of the calling agent outside its container; the same name replaces it. Saves of one artifact run one
 * after the other, so that row and bytes belong together. Problems `denied`, `bad-request`, `body-too-large`, and
 * `unprocessable` if the agent exceeds its quota or shares without belonging to a project.
 */
export function saveArtifact(deps: SaveArtifactDeps): SaveArtifact {
  return async (caller, input, step = onceOnly(deps.database)) => {
    const agentId = caller.kind === 'agent' ? caller.agentId : ''
    deps.guard(caller, { do: 'act-for-self', agentId })
    requireName(input.name)
    const project = input.shared === true ? deps.projectOf(agentId) : null
    if (input.shared === true && project === null) {
      throw new Problem('unprocessable', {
        detail:
          'shared: you belong to no project. Save the artifact without shared, and name it in a task or a message',
      })
    }
    const content = decode(input.contentBase64)
    const staged = await deps.files.stage(agentId, content)
    return deps.inTurn(() => keep(deps, staged, { caller, agentId, input, content, project, step }))
  }
}

async function keep(
  deps: SaveArtifactDeps,
  staged: StagedFile,
  save: {
    caller: Caller
    agentId: string
    input: ArtifactToSave
    content: Buffer
    project: string | null
    step: Resumable<ArtifactRow>
  },
): Promise<ArtifactRow> {
  const { agentId, input, content } = save
  try {
    requireRoom(deps.table, agentId, { name: input.name, sizeBytes: content.byteLength })
    // The file is written before the row. A crash between the two leaves the new bytes with the old
    // row, until the call is retried with the same bytes or the name is saved again.
    await staged.place(input.name)
  } catch (error) {
    await staged.discard()
    throw error
  }
  return save.step.settle(() => {
    const row = deps.table.put({
      agentId,
      name: input.name,
      description: sanitizeForPrompt(input.description),
      sizeBytes: content.byteLength,
      sha256: createHash('sha256').update(content).digest('hex'),
      savedAt: deps.clock.now(),
      // If the agent left the project, or the project was deleted, while the bytes were written, nothing is shared.
      project: deps.projectOf(agentId) === save.project ? save.project : null,
    })
    deps.journal.append({
      actor: actorOf(save.caller),
      action: 'artifact.saved',
      subject: `${agentId}/${row.name}`,
      detail: { version: row.version, size_bytes: row.sizeBytes, sha256: row.sha256 },
    })
    const runId = save.caller.kind === 'agent' ? (save.caller.run?.runId ?? null) : null
    deps.saved({ agentId, name: row.name, runId })
    deps.events.publish({
      type: 'artifact.saved',
      agent_id: agentId,
      name: row.name,
      size_bytes: row.sizeBytes,
    })
    return row
  })
}

function requireName(name: string): void {
  if (nameSchema.safeParse(name).success && Buffer.byteLength(name) <= nameMaxBytes) return
  throw new Problem('bad-request', {
    detail: `an artifact's name is a file name without slashes, at most 200 characters and ${nameMaxBytes} bytes`,
  })
}

function decode(text: string): Buffer {
  const content = Buffer.from(text, 'base64')
  if (content.byteLength > wireLimits.artifactMaxBytes) {
    throw new Problem('body-too-large', {
      detail: `an artifact has at most ${wireLimits.artifactMaxBytes} bytes`,
    })
  }
  // The decoder ignores invalid characters, so only text that encodes to itself is valid base64.
  if (content.toString('base64') !== text) {
    throw new Problem('bad-request', { detail: 'content_base64 is not padded base64' })
  }
  return content
}

function requireRoom(
  table: ArtifactTable,
  agentId: string,
  added: { name: string; sizeBytes: number },
): void {
  const kept = table.usageBeside(agentId, added.name)
  if (kept.count >= artifactsPerAgentMax) {
    throw new Problem('unprocessable', {
      detail: `an agent may have at most ${artifactsPerAgentMax} artifacts; save under an existing name to replace one`,
    })
  }
  if (kept.sizeBytes + added.sizeBytes > totalPerAgentMaxBytes) {
    throw new Problem('unprocessable', {
      detail: `the artifacts of one agent may have at most ${totalPerAgentMaxBytes} bytes together; replace a large one with a smaller file`,
    })
  }
}
