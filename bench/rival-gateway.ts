import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { openLine } from './http-line.ts'
import { startContender } from './processes.ts'
import type { Contender } from './processes.ts'

const readyTimeoutMs = 30_000
const askEveryMs = 100

export interface RivalGateway {
  readonly contender: Contender
  readonly port: number
  readonly version: string
  /** Headers that route a call to another provider. */
  readonly headers: Readonly<Record<string, string>>
}

/** Starts Portkey's gateway as its package does, without its console page; calls go to the fake upstream. */
export async function startRivalGateway(options: {
  readonly upstreamPort: number
  readonly core: number | null
  /** True to apply the fix without which it cannot stream to this upstream; see `mend-rival.ts`. */
  readonly mended: boolean
}): Promise<RivalGateway> {
  const manifest = createRequire(import.meta.url).resolve('@portkey-ai/gateway/package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const port = await freePort()
  const contender = startContender({
    script: join(dirname(manifest), 'build', 'start-server.js'),
    args: [`--port=${port}`, '--headless'],
    nodeArgs: options.mended ? ['--import', join(import.meta.dirname, 'mend-rival.ts')] : [],
    environment: { NODE_ENV: 'production' },
    core: options.core,
  })
  await waitForListener(contender, port)
  return {
    contender,
    port,
    version,
    headers: {
      authorization: 'Bearer bench',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${options.upstreamPort}/v1`,
    },
  }
}

async function waitForListener(contender: Contender, port: number): Promise<void> {
  const end = performance.now() + readyTimeoutMs
  for (;;) {
    try {
      const line = await openLine('127.0.0.1', port)
      line.close()
      return
    } catch (error) {
      if (contender.child.exitCode !== null || performance.now() > end) {
        await contender.stop()
        throw error
      }
      await delay(askEveryMs)
    }
  }
}
