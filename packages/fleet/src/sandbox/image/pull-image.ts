import type { Engine } from '../engine/connect-engine.ts'
import { followEngine } from './engine-images.ts'
import { whyNotFetched } from './why-not-fetched.ts'

/** Pulls an image. Returns null on success, otherwise the reason of the failure. */
export async function pullImage(
  engine: Engine,
  reference: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<string | null> {
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    const stream = await engine.docker.pull(reference, {
      abortSignal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    })
    await followEngine(engine, stream)
    return null
  } catch (error) {
    signal?.throwIfAborted()
    return whyNotFetched(error)
  }
}
