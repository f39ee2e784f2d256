import { jsonLimits } from '@flotilla/protocol/limits'
import { saysTooLong } from '@flotilla/protocol/context-overflow'
import { Problem, retold } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import * as z from 'zod'
import { readJson } from '../../intake/index.ts'
import { redact } from '../../credentials/index.ts'
import type { Secret } from '../../credentials/index.ts'
import type { ProviderReply } from '../providers/llm-provider.ts'
import { providerVariable } from '../providers/provider-setup.ts'

/** Enough of a refusal to read its message. */
const refusalMaxBytes = 16 * 1024
const messageMaxChars = 500

const refusalSchema = z.looseObject({
  error: z.union([z.string(), z.looseObject({ message: z.string().nullish() })]),
})

/** What is the caller's own to mend; a wrong key is ours, and must not look like a wrong token of the caller's. */
const byStatus: Readonly<Partial<Record<number, ProblemCode>>> = {
  400: 'model-call-rejected',
  404: 'model-unknown',
  413: 'model-call-rejected',
  422: 'model-call-rejected',
}

const overloadedPattern = /\boverloaded\b/i

/** Some say it with a status of their own trouble. */
function isTooLong(status: number, message: string): boolean {
  return status !== 429 && saysTooLong(message)
}

/** What a provider's refusal is to our caller, in the provider's words and never with a key. Reads the reply's body. */
export async function problemFromRefusal(
  reply: ProviderReply,
  provider: string,
  secrets: readonly Secret[],
): Promise<Problem> {
  const message = redact(messageOf(await readStart(reply)), secrets).slice(0, messageMaxChars)
  const detail = `${provider} answered ${reply.status}${message === '' ? '' : `: ${message}`}`
  const extra = { provider, provider_status: reply.status }
  if (reply.status === 429) {
    const retryAfterSeconds = Math.ceil(reply.retryAfterSeconds ?? 10)
    return new Problem('rate-limited', { detail, extra, retryAfterSeconds })
  }
  if (isTooLong(reply.status, message)) return new Problem('prompt-too-long', { detail, extra })
  if (reply.status === 529 || overloadedPattern.test(message))
    return new Problem('model-overloaded', { detail, extra })
  const own = byStatus[reply.status]
  if (own) return new Problem(own, { detail, extra })
  if (reply.status === 408 || reply.status === 504) return new Problem('upstream-timeout', { detail, extra })
  if (reply.status >= 500) return new Problem('upstream-failed', { detail, extra })
  return namingVariables(new Problem('provider-refused', { detail, extra }), provider)
}

/** The answer to a call; what keeps it from coming is told with the names of this provider. */
export async function replyOf(reply: Promise<ProviderReply>, provider: string): Promise<ProviderReply> {
  try {
    return await reply
  } catch (error) {
    throw error instanceof Problem ? namingVariables(error, provider) : error
  }
}

/** What has gone wrong at a provider, with the very names under which it is set up. Pure. */
export function namingVariables(problem: Problem, provider: string): Problem {
  if (problem.code === 'provider-refused') {
    const variable = providerVariable(provider, 'API_KEY')
    return retold(problem, {
      repair: `Check the key and the model of ${provider}: ${variable} in .env, providers.${provider} in config/settings.json; flotilla models shows how it does.`,
    })
  }
  if (problem.code === 'provider-unreachable') {
    const variable = providerVariable(provider, 'BASE_URL')
    // In the detail too: of what ends a run, the detail alone is kept.
    return retold(problem, {
      detail: `${problem.detail}; ${variable} in .env says where ${provider} is`,
      repair: `Check that it runs there (${variable} in .env, or providers.${provider}.base_url in config/settings.json), and the network of the mesh.`,
    })
  }
  return problem
}

async function readStart(reply: ProviderReply): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= refusalMaxBytes) break
    }
  } catch {
    // The status is known and is what counts; a message that never came is no news.
  } finally {
    reply.discard()
  }
  return Buffer.concat(chunks).toString('utf8', 0, refusalMaxBytes)
}

function messageOf(text: string): string {
  try {
    const { error } = refusalSchema.parse(readJson(text, jsonLimits.serverReply))
    return typeof error === 'string' ? error : (error.message ?? '')
  } catch {
    return text
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  }
}
