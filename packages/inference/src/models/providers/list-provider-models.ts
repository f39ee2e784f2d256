import { jsonLimits } from '@flotilla/protocol/limits'
import { setupLimits } from '@flotilla/protocol/setup-api'
import * as z from 'zod'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { TunnelProxy } from '@flotilla/foundation/platform'
import { exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderSetup } from './provider-setup.ts'
import { readReplyText } from './read-reply-text.ts'

/** The bound for a list: four times the longest known one. */
const listMaxBytes = 4 * 1024 * 1024

const listSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) })

/**
 * Returns the model names that a provider lists at `/models`, which most providers serve. Empty if the provider does
 * not answer, for any reason: only a model's own answer proves anything. The number and length of names are bounded.
 */
export async function listProviderModels(
  setup: ProviderSetup,
  signal: AbortSignal,
  proxy: TunnelProxy | null = null,
): Promise<readonly string[]> {
  if (setup.kind !== 'openai-compatible' && setup.kind !== 'anthropic' && setup.kind !== 'mistral') return []
  const base = new URL(setup.baseUrl)
  const pool = openProviderPool(base.origin, {}, proxy)
  const key = setup.apiKey?.reveal()
  try {
    const reply = await exchange({
      pool,
      host: base.host,
      signal,
      request: {
        agentId: null,
        method: 'GET',
        path: `${base.pathname.replace(/\/+$/, '')}/models${base.search}`,
        headers: {
          accept: 'application/json',
          ...(setup.kind === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {}),
          ...(key === undefined
            ? {}
            : setup.kind === 'anthropic'
              ? { 'x-api-key': key }
              : { authorization: `Bearer ${key}` }),
        },
        body: null,
      },
    })
    const text = await readReplyText(reply, listMaxBytes)
    return reply.status === 200 ? modelNamesIn(text) : []
  } catch {
    signal.throwIfAborted()
    return []
  } finally {
    await pool.destroy()
  }
}

/** Returns the names in a model list; empty if the text is not such a list. Pure. */
export function modelNamesIn(text: string): readonly string[] {
  const parsed = listSchema.safeParse(readJsonQuietly(text, jsonLimits.serverReply))
  if (!parsed.success) return []
  const names = parsed.data.data.map(({ id }) => id).filter((id) => namePattern.test(id))
  return [...new Set(names)].toSorted().slice(0, setupLimits.modelsMax)
}

/** Whether a text is a model list, even an empty one. Pure. */
export function isModelList(text: string): boolean {
  return listSchema.safeParse(readJsonQuietly(text, jsonLimits.serverReply)).success
}

const namePattern = new RegExp(String.raw`^[^\s\p{C}]{1,${setupLimits.modelNameMaxChars}}$`, 'u')
