import { Worker } from 'node:worker_threads'
import { addToYamlList } from '@flotilla/foundation/config'
import * as z from 'zod'
import { parsePolicy } from './parse-policy.ts'
import type { ParsedPolicy } from './parse-policy.ts'

/**
 * The maximum length of a text that the main thread parses, in characters: parsing 4,000 takes some milliseconds, and the
 * longest file a fifth of a second, during which no request would be served.
 */
const inlineMaxChars = 4000
/** The time limit of the thread, in milliseconds, far above what the longest file takes. */
const threadMaxMs = 30_000
/** The heap of the thread in MB, far above what the longest file takes. */
const heapMaxMb = 256

export const textWorkSchema = z.strictObject({
  text: z.string(),
  /** The rule to add at the end of the list; null to parse the text. */
  rule: z.record(z.string(), z.unknown()).nullable(),
})
type TextWork = z.output<typeof textWorkSchema>
interface TextResult {
  /** Null if a rule was added. */
  readonly parsed: ParsedPolicy | null
  /** The text with the rule. */
  readonly text: string
}

/** Work on the text of config/policy.yaml; a long text is parsed in another thread. Rejects if the thread fails. */
export interface PolicyText {
  parse(text: string): Promise<ParsedPolicy>
  /** Returns the valid text with one more rule at its end; comments stay. */
  addRule(text: string, rule: object): Promise<string>
}

/** Creates the work on texts; at most one thread exists at a time. */
export function createPolicyText(): PolicyText {
  let before: Promise<unknown> = Promise.resolve()

  function work(of: TextWork): Promise<TextResult> {
    if (of.text.length <= inlineMaxChars) return Promise.resolve(workOnText(of))
    const result = before.then(() => inThread(of))
    before = result.catch(() => {})
    return result
  }

  return {
    parse: async (text) => {
      const { parsed } = await work({ text, rule: null })
      if (parsed === null) throw new Error('the text of a policy was not parsed')
      return parsed
    },
    addRule: async (text, rule) => (await work({ text, rule: { ...rule } })).text,
  }
}

/** Parses a text, or adds a rule to it. Pure. */
export function workOnText({ text, rule }: TextWork): TextResult {
  return rule === null
    ? { parsed: parsePolicy(text), text }
    : { parsed: null, text: addToYamlList(text, 'rules', rule) }
}

async function inThread(of: TextWork): Promise<TextResult> {
  const worker = new Worker(new URL('./policy-worker.ts', import.meta.url), {
    workerData: of,
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  })
  const { promise, resolve, reject } = Promise.withResolvers<TextResult>()
  const tooLong = setTimeout(
    () => reject(new Error(`the thread that parses config/policy.yaml took longer than ${threadMaxMs} ms`)),
    threadMaxMs,
  )
  worker
    .once('message', resolve)
    .on('error', reject)
    .once('exit', (code) => reject(new Error(`the thread that parses config/policy.yaml ended with ${code}`)))
  try {
    return await promise
  } finally {
    clearTimeout(tooLong)
    await worker.terminate()
  }
}
