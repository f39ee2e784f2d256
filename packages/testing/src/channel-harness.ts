import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { Problem } from '@flotilla/protocol/problem'
import type { ChannelName, Person } from '@flotilla/protocol/people'
import type { Action, Decision } from '../../identity/src/access/action.ts'
import type { Caller, HumanCaller } from '../../identity/src/access/caller.ts'
import { authorizePerson, byRoute } from '../../identity/src/access/authorize-person.ts'
import type { ChannelAdapter } from '../../inbound/src/channels/adapter.ts'
import { createChannelDesk } from '../../inbound/src/channels/channel-desk.ts'
import { createPairingCodes } from '../../inbound/src/channels/pairing/pairing-codes.ts'
import { settingsSchema } from '../../foundation/src/config/settings-file.ts'
import type { Settings } from '../../foundation/src/config/settings-file.ts'
import type { Transcribed } from '../../inference/src/models/index.ts'
import { channelCaller } from '../../identity/src/people/index.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { aLedgerHarness } from './ledger-harness.ts'
import type { LedgerHarness } from './ledger-harness.ts'

export const issuer: HumanCaller = { kind: 'human', role: 'owner', channel: 'cli', local: true }

/** Uses the real table of roles; the mesh itself may do everything. */
function decide(caller: Caller, action: Action): Decision {
  if (caller.kind !== 'human') return { allowed: true }
  if (action.do === 'call-route') return byRoute(caller, action)
  return caller.role === 'owner' ? { allowed: true } : authorizePerson(caller, action)
}

/** A guard that records each refusal, as the real one does. */
function aGuard(refused: (action: Action) => void) {
  return (caller: Caller, action: Action): void => {
    const decision = decide(caller, action)
    if (decision.allowed) return
    refused(action)
    throw new Problem('denied', { detail: decision.reason })
  }
}

export interface ChannelHarnessOptions {
  /** The approvals that have not ended. */
  readonly approvals?: readonly ApprovalView[]
  readonly adapters: readonly ChannelAdapter[]
  readonly people?: readonly Partial<Person>[]
  readonly agents?: readonly string[]
  readonly perMinute?: number
  readonly notices?: Partial<Settings['channels']['notices']>
  readonly voice?: Settings['channels']['voice']
  /** The harness whose rows this one continues, as after a crash. */
  readonly of?: Pick<LedgerHarness, 'database' | 'clock' | 'agents' | 'newId'>
}

export const ann: Partial<Person> = { name: 'ann', role: 'owner', identities: ['telegram:1000'] }

/** Channels over a ledger with fake agents; people, platforms and time are fakes. */
export async function aChannelHarness(options: ChannelHarnessOptions) {
  const { of } = options
  const parts = of ? { database: of.database, clock: of.clock, agents: of.agents, newId: of.newId } : {}
  const guard = aGuard(({ do: subject }) =>
    ledgerOf.journal.append({ actor: 'human:test', action: 'permission.denied', subject, detail: {} }),
  )
  const ledgerOf: LedgerHarness = aLedgerHarness({ ...parts, guard, decide })
  const { ledger, clock } = ledgerOf
  const agentIds = options.agents ?? ['operator', 'scout', 'auditor']
  const people: Person[] = (options.people ?? [ann]).map((one) => ({
    name: 'somebody',
    role: 'viewer',
    agents: [],
    identities: [],
    token_sha256: null,
    token_expires_at: null,
    ...one,
  }))
  const resets: string[] = []
  /** Files of agents by `agent path`, and artifacts by `agent name`. */
  const written = new Map<string, Uint8Array>()
  const artifacts = new Map<string, Uint8Array>()
  const faults: {
    peopleBroken: string | null
    writing: (() => Promise<void>) | null
    /** Replaces the transcription of voice notes. */
    transcribing: (() => Promise<Transcribed>) | null
  } = { peopleBroken: null, writing: null, transcribing: null }
  /** Transcribed notes: the agent that pays, and the audio. */
  const transcribed: { readonly agentId: string; readonly audio: string }[] = []
  const codes = createPairingCodes({ clock, randomNumber: () => 7 })
  const byIdentity = (identity: string) =>
    people.find(({ identities }) => identities.includes(identity)) ?? null
  const kernel = {
    ...ledgerOf,
    guard,
    decide,
    log: silentLog,
    randomToken: () => 'token',
    settings: () =>
      settingsSchema.parse({
        channels: {
          per_minute: options.perMinute ?? 600,
          notices: options.notices,
          voice: options.voice,
        },
      }),
    ports: { people: 8420, agentApi: 0, proxy: 0, open: [] },
  }
  const desk = createChannelDesk(kernel, {
    codes,
    people: {
      broken: () => faults.peopleBroken,
      channelCaller: (channel, id) => channelCaller({ byIdentity }, channel, id),
      ownersOn: (channel) =>
        people
          .filter(
            ({ role, identities }) =>
              role === 'owner' && identities.some((one) => one.startsWith(`${channel}:`)),
          )
          .map(({ name }) => name),
      adoptIdentity: async (_issuer, identity) => {
        if (byIdentity(identity))
          throw new Problem('conflict', { detail: `${identity} belongs to another person already` })
        people.push({
          name: 'owner',
          role: 'owner',
          agents: [],
          identities: [identity],
          token_sha256: null,
          token_expires_at: null,
        })
        return 'owner'
      },
    },
    runs: {
      ...ledgerOf.runs,
      sessions: {
        list: async () => ({ sessions: [], total: 0 }),
        history: async () => {
          throw new Error('not called by these tests')
        },
        reset: async (caller, agentId, session) => {
          guard(caller, { do: 'submit-run', to: agentId })
          resets.push(`${agentId} ${session}`)
          return { session, archived_messages: 3 }
        },
      },
    },
    files: {
      write: async (caller, { agentId, path, content }) => {
        guard(caller, { do: 'manage-agent', agentId })
        await faults.writing?.()
        written.set(`${agentId} ${path}`, content)
      },
    },
    // This fake transcription reads the bytes as the text.
    transcribe: async (caller, { agentId, audio }) => {
      guard(caller, { do: 'submit-run', to: agentId })
      const text = Buffer.from(audio).toString()
      transcribed.push({ agentId, audio: text })
      return (await faults.transcribing?.()) ?? { text }
    },
    artifacts: {
      read: async (_caller, agentId, name) => {
        const content = artifacts.get(`${agentId} ${name}`)
        if (!content)
          throw new Problem('not-found', {
            detail: 'the agent has no artifact with this name, or you may not read it',
          })
        return { row: anArtifactRow(agentId, name), content: Buffer.from(content) }
      },
    },
    control: {
      views: { all: () => agentIds.map(anAgentView) },
      approvals: { list: () => [...(options.approvals ?? [])] },
    },
    spending: {
      report: (caller, { by }) => {
        guard(caller, { do: 'view-fleet' })
        const cache = { read_tokens: 0, written_tokens: 0, read_usd: 0, written_usd: 0, saved_usd: 0 }
        const total = {
          usd: 1.5,
          unconfirmed_usd: 0,
          calls: 1,
          prompt_tokens: 1,
          completion_tokens: 1,
          reported_tokens: 0,
          cache,
        }
        return { by, from: '', to: '', total, rows: [{ ...total, key: 'scout', daily_usd: [1.5] }] }
      },
    },
  })
  const stopped = new AbortController()
  ledger.start()
  await desk.resume()
  for (const adapter of options.adapters) {
    await adapter.start({
      received: (message) => desk.receive(adapter.name, message),
      stateChanged: () => {},
      passedOver: (what) => desk.passOver(adapter.name, what),
      identityChanged: (what) => desk.identityChanged(adapter.name, what),
      moved: (what) => desk.moved(adapter.name, what),
    })
  }
  const serving = options.adapters.map((adapter) => desk.serve(adapter, stopped.signal))
  await clock.settle()

  return {
    ...ledgerOf,
    desk,
    codes,
    people,
    resets,
    faults,
    written,
    transcribed,
    artifacts,
    /** Saves a file like an agent in its current run. */
    saveArtifact: (agentId: string, name: string, content: Uint8Array) => {
      artifacts.set(`${agentId} ${name}`, content)
      const runId = ledger.lifecycle.live.liveRunOf(agentId)?.runId ?? null
      ledgerOf.database.transaction(() =>
        ledgerOf.collaborationEvents.artifactSaved.publish({ agentId, name, runId }),
      )
    },
    rows: (sql: string, ...values: string[]) => ledgerOf.database.prepare(sql).all(...values),
    openNotes: () =>
      ledger.delivery.outbox.open(100).map(({ source, state: how }) => ({ source, state: how })),
    identityOf: (channel: ChannelName, id: string) => byIdentity(`${channel}:${id}`)?.name ?? null,
    /** Stops as a mesh does at a stop request. */
    stop: async () => {
      for (const adapter of options.adapters) await adapter.close()
      stopped.abort()
      await Promise.all(serving)
      desk.close()
      await ledger.close()
    },
  }
}

function anArtifactRow(agentId: string, name: string) {
  const rest = { version: 1, description: '', sizeBytes: 1, sha256: '', savedAt: 0, project: null }
  return { agentId, name, ...rest }
}

function anAgentView(id: string): AgentView {
  return {
    id,
    kind: id === 'operator' ? 'operator' : 'worker',
    role: `the ${id}`,
    model: 'test/model',
    state: 'running',
    busy: false,
    queued: 0,
    waiting: 0,
    cost_today_usd: 0.25,
    budget: { daily_usd: 5, monthly_usd: 50 },
    state_since: null,
    retry_at: null,
    archived: false,
    paused: null,
    last_error: null,
    waits_for: null,
    isolation: { wanted: 'container', required: 'container', runs_on: null, fallback: null },
  }
}
