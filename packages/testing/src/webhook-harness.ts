import { createSecret } from '../../egress/src/credentials/secret.ts'
import type { Secret } from '../../egress/src/credentials/secret.ts'
import type { Caller } from '../../identity/src/access/caller.ts'
import { Problem } from '@flotilla/protocol/problem'
import { aLedgerHarness } from './ledger-harness.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import type { NewHook } from '../../inbound/src/triggers/webhook/manage-hooks.ts'
import type { Hook } from '../../inbound/src/triggers/webhook/hook-table.ts'
import type { RawHeaders } from '../../inbound/src/triggers/webhook/delivery-head.ts'
import type { MemoryBounds } from '../../inbound/src/triggers/webhook/body-memory.ts'
import { createWebhooks } from '../../inbound/src/triggers/webhook/webhooks.ts'
import type { Webhooks } from '../../inbound/src/triggers/webhook/webhooks.ts'

export const owner: Caller = { kind: 'human', role: 'owner', channel: 'api' }

/** Webhooks over a real ledger with fake agents and a vault in memory, for tests. */
export function aWebhookHarness(
  options: { readonly perMinute?: number; readonly memoryBounds?: MemoryBounds } = {},
) {
  const stored = new Map<string, Secret>()
  const paused = new Map<string, string>()
  const archived = new Set<string>()
  const harness = aLedgerHarness({
    onRunSettled: [(run) => webhooks.runSettled(run)],
    pausedReason: (agentId) => paused.get(agentId) ?? null,
  })
  const requireAgent = (agentId: string) => {
    if (archived.has(agentId)) throw new Problem('agent-archived', { detail: `${agentId} is archived` })
    if (agentId === 'nobody') throw new Problem('unknown-agent')
  }
  const made = (): Webhooks =>
    createWebhooks({
      ...harness,
      // Ids have their real format, by which the mesh distinguishes webhook secrets from the owner's.
      newId: (prefix) =>
        `${prefix}_${harness
          .newId(prefix)
          .slice(prefix.length + 1)
          .padStart(16, '0')}`,
      log: silentLog,
      vault: {
        system: (name: string) => stored.get(name),
        names: () => ({ system: [...stored.keys()], agent: [] }),
        storeSystem: async (name: string, value: string) => void stored.set(name, createSecret(name, value)),
        removeSystem: async (name: string) => void stored.delete(name),
      },
      submitRun: (caller, submitted) => {
        requireAgent(submitted.agentId)
        return harness.ledger.queue.submitRun(caller, submitted)
      },
      requireAgent,
      perMinute: () => options.perMinute ?? 60,
      randomBytes: (count) => Buffer.alloc(count, 7),
      ...(options.memoryBounds ? { memoryBounds: options.memoryBounds } : {}),
    })
  let webhooks = made()

  return {
    ...harness,
    get webhooks() {
      return webhooks
    },
    /** Simulates a mesh that was killed and starts again on the same rows. */
    restart: () => {
      webhooks = made()
    },
    stored,
    paused,
    archived,
    hook: async (more: Partial<NewHook> = {}): Promise<{ hook: Hook; secret: string }> => {
      const { hook, secret } = await webhooks.manage.create(owner, {
        name: 'builds',
        agentId: 'clerk',
        instructions: '',
        when: null,
        perMinute: null,
        signed: true,
        ...more,
      })
      return { hook, secret: secret ?? more.secret ?? '' }
    },
    deliver: async (hook: Hook, body: string | Uint8Array, headers: RawHeaders = {}) =>
      webhooks
        .receive(hook.id, { 'content-type': 'application/json', ...headers })
        .receive(Buffer.from(body)),
    history: (hook: Hook) => webhooks.history.list(owner, hook.id, { limit: 200 }),
    messages: () =>
      harness.ledger.queries
        .list({ limit: 200 })
        .map((run) => (run.input.kind === 'chat' ? run.input.message : '')),
  }
}
export type WebhookHarness = ReturnType<typeof aWebhookHarness>
