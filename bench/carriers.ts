import { join } from 'node:path'
import type { BenchOptions } from './bench.ts'
import type { LoadOrder } from './load-generator.ts'
import { startMeshGateway } from './mesh-gateway.ts'
import { modelName } from './model-call.ts'
import type { CallForm } from './model-call.ts'
import { chooseCores, listeningPort, startContender } from './processes.ts'
import type { Contender } from './processes.ts'
import { startRivalGateway } from './rival-gateway.ts'

export type CallKind = 'plain' | 'stream'
export type CarrierName = 'direct' | 'pipe' | 'gateway' | 'responses' | 'contents' | 'rival' | 'mended'

/** A proxy, or none, that forwards a call to the fake upstream. */
export interface Carrier {
  readonly name: CarrierName
  readonly label: string
  /** Null for the fake upstream itself. */
  readonly contender: Contender | null
  readonly target: Pick<LoadOrder, 'host' | 'port' | 'path' | 'headers'>
  readonly model: string
  readonly form: CallForm
  readonly carries: readonly CallKind[]
  /** Factor for the fixed counts; below 1 for slow carriers, which would otherwise take minutes. */
  readonly share: number
}

export interface Carriers {
  readonly ready: readonly Carrier[]
  /** Carriers that could not be started, with the reason. */
  readonly absent: ReadonlyMap<CarrierName, string>
  readonly generator: Contender
  /** Whether each contender has a core of its own. */
  readonly pinned: boolean
  /** Returns what the gateway reports to have accounted for. */
  accounts(): Promise<string>
  close(): Promise<void>
}

export const carrierLabels: Readonly<Record<CarrierName, string>> = {
  direct: 'no proxy',
  pipe: 'HTTP pipe (floor)',
  gateway: 'Flotilla model gateway',
  responses: 'Flotilla, /v1/responses',
  contents: 'Flotilla, /v1beta/models',
  rival: '@portkey-ai/gateway',
  mended: '@portkey-ai/gateway, mended',
}

const path = '/v1/chat/completions'
const rivalShare = 0.25

/**
 * Starts the carriers. The fake upstream, the pipe and the load generator must start; a gateway that does not start
 * is reported as absent.
 */
export async function startCarriers({ folder, progress, signal }: BenchOptions): Promise<Carriers> {
  const cores = chooseCores()
  const core = cores?.contender ?? null
  const started: Contender[] = []
  const absent = new Map<CarrierName, string>()
  const close = async () => {
    for (const contender of started.toReversed()) await contender.stop()
  }
  const start = (script: string, args: readonly string[], on: number | null) => {
    const contender = startContender({ script: join(import.meta.dirname, script), args, core: on })
    started.push(contender)
    return contender
  }
  const orAbsent = async <Value extends { readonly contender: Contender }>(
    name: CarrierName,
    starting: Promise<Value>,
  ): Promise<Value | null> => {
    try {
      const value = await starting
      started.push(value.contender)
      return value
    } catch (error) {
      absent.set(name, error instanceof Error ? error.message : String(error))
      return null
    }
  }
  try {
    progress('starting the fake upstream, the pipe and the load generator')
    const upstreamPort = await listeningPort(start('fake-upstream.ts', [], cores?.load ?? null), signal)
    const pipe = start('pipe-proxy.ts', [`${upstreamPort}`], core)
    const pipePort = await listeningPort(pipe, signal)
    const generator = start('load-generator.ts', [], cores?.load ?? null)
    progress('starting the rival gateway, as published and mended')
    const rival = await orAbsent('rival', startRivalGateway({ upstreamPort, core, mended: false }))
    const mended = await orAbsent('mended', startRivalGateway({ upstreamPort, core, mended: true }))
    progress('starting the mesh')
    const gateway = await orAbsent('gateway', startMeshGateway({ upstreamPort, folder, core, signal }))
    const carrier = (
      name: CarrierName,
      contender: Contender | null,
      target: Partial<Carrier['target']> & { readonly port: number },
    ): Carrier => ({
      name,
      label: carrierLabels[name],
      contender,
      target: {
        host: target.host ?? '127.0.0.1',
        port: target.port,
        path: target.path ?? path,
        headers: target.headers ?? {},
      },
      model: gateway && gateway.contender === contender ? gateway.model : modelName,
      form: name === 'responses' || name === 'contents' ? name : 'chat',
      carries: name === 'mended' ? ['stream'] : ['plain', 'stream'],
      share: name === 'rival' || name === 'mended' ? rivalShare : 1,
    })
    return {
      ready: [
        carrier('direct', null, { port: upstreamPort }),
        carrier('pipe', pipe, { port: pipePort }),
        ...(gateway
          ? (['gateway', 'responses', 'contents'] as const).map((name) =>
              carrier(name, gateway.contender, gateway),
            )
          : []),
        ...(rival ? [carrier('rival', rival.contender, rival)] : []),
        ...(mended ? [carrier('mended', mended.contender, mended)] : []),
      ],
      absent,
      generator,
      pinned: cores !== null,
      accounts: async () => (gateway ? gateway.accounts() : 'nothing'),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
