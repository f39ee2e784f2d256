import { createBuildQueue } from '../build-queue.ts'
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
  const queue = createBuildQueue()
  return {
    ensure: async (reference, { progress, signal: own }) => {
      const signal = own ? AbortSignal.any([own, home.closing]) : home.closing
      return queue.take({ name: `the image ${reference}`, signal, progress }, async () => {
        const prepared = await home.prepared()
        const { engine, ground } = prepared
        return makeOwnImage(
          options,
          { engine, image: ground.image },
          {
            reference,
            progress,
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
    },
    idle: queue.idle,
  }
}
