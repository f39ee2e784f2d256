import { Problem } from '@flotilla/protocol/problem'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import { describe, expect, test } from 'vitest'
import { azureForm, mistralForm } from '../../packages/inference/src/models/formats/packaged/chat-forms.ts'
import { createPackagedWriter } from '../../packages/inference/src/models/formats/packaged/packaged-writer.ts'
import type { PackagedForm } from '../../packages/inference/src/models/formats/packaged/packaged-writer.ts'
import { oddities } from './oddities.ts'

interface Said {
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[]
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}
interface Choice {
  readonly message?: Said
  readonly delta?: Said
  readonly finish_reason: string | null
}

function written(form: PackagedForm, wire: string | Uint8Array, stream: boolean): string {
  let made = 0
  const writer = createPackagedWriter(form, { stream, newId: () => `call_${made++}` })
  try {
    return writer.take(Buffer.from(wire)) + writer.end()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return `${error.code}: ${error.detail}`
  }
}

function shown(text: string): object {
  const events = createServerSentEventParser(16 * 1024 * 1024)
  const texts = text.startsWith('{') ? [text] : events.push(text).map(({ data }) => data)
  const choices = texts
    .filter((data) => data !== '[DONE]')
    .flatMap((data) => (JSON.parse(data) as { readonly choices: readonly Choice[] }).choices)
  const said = choices.map(({ message, delta }) => message ?? delta ?? {})
  return {
    text: said
      .flatMap(({ content = '' }) =>
        typeof content === 'string' ? content : content.map((part) => part.text ?? ''),
      )
      .join(''),
    calls: said.flatMap(({ tool_calls: calls = [] }) =>
      calls.map((call) => [call.function.name, call.function.arguments]),
    ),
    end: choices.at(-1)?.finish_reason,
  }
}

/** Oddities without a content encoding, which is read together with the reply's headers. */
const bare = oddities.filter(({ contentEncoding }) => contentEncoding === undefined)

describe.each([
  ['mistral', mistralForm],
  ['azure', azureForm],
] as const)('an odd chat completion of %s', (_kind, form) => {
  test.each(bare)(
    'an odd chat completion is written in the form of its package, streamed and whole, where $what',
    ({ wire, normal, anthropicClient }) => {
      for (const stream of [true, false]) {
        const text = written(form, wire, stream)
        if ('problem' in normal) {
          expect(text).toMatch(new RegExp(`^${normal.problem}: `))
          continue
        }
        const expected = { text: normal.text ?? '', calls: normal.calls ?? [], end: normal.end ?? 'stop' }
        if (anthropicClient === undefined) expect(shown(text)).toEqual(expected)
        else expect(shown(text)).toMatchObject({ end: expected.end })
      }
    },
  )
})
