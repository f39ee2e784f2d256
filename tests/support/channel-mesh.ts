import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { eventually } from './eventually.ts'
import { flotilla } from './flotilla-command.ts'
import { openLedger } from './ledger-view.ts'
import { repositoryRoot, startMesh } from './mesh-process.ts'
import type { MeshOptions, MeshProcess } from './mesh-process.ts'
import { aWebhookPlatform } from './webhook-platform.ts'

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href

/** A mesh whose people write on the webhook channel, and which can be killed at a row that it writes. */
export interface ChannelMesh {
  readonly mesh: MeshProcess
  readonly platform: Awaited<ReturnType<typeof aWebhookPlatform>>
  /** Sends as the webhook standard requires: repeatedly, until the delivery is accepted. */
  say(id: string, said: object): Promise<void>
  /** Pairs an account of the platform with the owner, in this conversation. */
  pair(conversation: string): Promise<void>
  /** Kills the mesh at the next statement of this kind: `before INSERT …`, `after UPDATE …`. */
  killAt(statement: string): Promise<void>
  isKilled(): boolean
  /** Restarts the mesh where it was killed. */
  restartOnceKilled(isKilled?: () => boolean): Promise<void>
  /** Resolves when no message waits to be sent. */
  allDelivered(): Promise<void>
  stop(): Promise<void>
}

export async function startChannelMesh(
  options: Pick<MeshOptions, 'cassettes' | 'settings'> & {
    /** Settings of the channels, beside the address of the platform. */
    readonly channels?: Readonly<Record<string, unknown>>
  },
): Promise<ChannelMesh> {
  const platform = await aWebhookPlatform()
  const arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  const mesh = await startMesh({
    cassettes: options.cassettes ?? {},
    settings: {
      ...options.settings,
      channels: { per_minute: 600, webhook: { url: platform.url }, ...options.channels },
    },
    environment: {
      FLOTILLA_SYSTEM_CHANNEL_WEBHOOK_SECRET: platform.secret,
      NODE_OPTIONS: `--import=${preload}`,
      KILL_WHEN_ARMED: arm,
    },
  })
  await mesh.createWorker('clerk')
  const isKilled = () => !existsSync(arm)
  const say = async (id: string, said: object): Promise<void> => {
    await eventually(`${id} is accepted`, async () => {
      const reply = await platform.deliver(mesh.url, id, said).catch(() => null)
      return reply !== null && reply.status === 202
    })
  }
  return {
    mesh,
    platform,
    say,
    pair: async (conversation) => {
      const printed = await flotilla({ url: mesh.url, home: mesh.home }, 'channels', 'pair', 'webhook')
      const code = /^[A-Z2-9]{8}$/m.exec(printed.out)?.[0] ?? ''
      await say('pairing', { conversation, text: code })
    },
    killAt: (statement) => writeFile(arm, statement),
    isKilled,
    restartOnceKilled: async (killed = isKilled) => {
      await eventually('the mesh is killed', killed)
      await mesh.kill9().catch(() => undefined)
      await mesh.restart()
    },
    allDelivered: async () => {
      await eventually('no message waits to be sent', () => {
        const ledger = openLedger(mesh.home)
        try {
          return ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0
        } finally {
          ledger.close()
        }
      })
    },
    stop: async () => {
      await mesh.stop()
      await platform.close()
    },
  }
}
