import type { Engine } from '../engine/connect-engine.ts'
import type { ContainerGround } from '../hardening/container-options.ts'
import type { OwnImages } from '../sandbox-runtime.ts'
import { makeOwnImage } from './make-own-image.ts'
import type { OwnImageOptions } from './make-own-image.ts'
import { probeOwnImage } from './probe-own-image.ts'

/**
 * Makes images of the owner fit for agents, one after another: each is copied as a whole. `idle` resolves when none is
 * being made.
 */
export function createOwnImages(
  options: OwnImageOptions & { readonly meshPorts: readonly number[] },
  home: {
    readonly prepared: () => Promise<{ readonly engine: Engine; readonly ground: ContainerGround }>
    readonly tag: string
    readonly closing: AbortSignal
  },
): OwnImages & { idle(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ensure: async (reference, how) => {
      const signal = how.signal ? AbortSignal.any([how.signal, home.closing]) : home.closing
      const next = last.then(async () => {
        signal.throwIfAborted()
        const prepared = await home.prepared()
        const { engine, ground } = prepared
        return makeOwnImage(
          options,
          { engine, image: ground.image },
          {
            reference,
            progress: how.progress,
            signal,
            probe: (image, until) =>
              probeOwnImage(prepared, {
                reference,
                image,
                homeTag: home.tag,
                meshPort: options.meshPorts[0] ?? 0,
                clock: options.clock,
                signal: until,
              }),
          },
        )
      })
      last = next.catch(() => undefined)
      return next
    },
    idle: async () => void (await last),
  }
}
