import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { chunkEvent, helloUsage, usageEvent } from '../../../../../tests/support/llm-upstream.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { createByteStream } from '../wire/byte-stream.ts'
import type { ByteSink } from '../wire/byte-stream.ts'
import type { CallAccount } from './call-account.ts'
import { chatFormat } from '../formats/chat-format.ts'
import { awaitFirstToken } from './await-first-token.ts'
import type { ProviderReply } from '../llm-provider.ts'
import { createReadOn } from './read-on.ts'
import type { UnknownCost } from '../../spending/unknown-cost.ts'
import type { TokenUsage } from '../formats/usage.ts'

/** A provider whose bytes the test pushes. */
function aSource() {
  let sink: ByteSink | null = null
  const asked = { resumed: 0, discarded: 0 }
  const body = createByteStream((to) => {
    sink = to
    return { resume: () => (asked.resumed += 1), cut: () => {} }
  })
  const reply: ProviderReply = {
    status: 200,
    contentType: 'text/event-stream',
    retryAfterSeconds: null,
    body,
    discard: () => (asked.discarded += 1),
  }
  return {
    reply,
    asked,
    say: (text: string) => sink?.write(Buffer.from(text)),
    end: () => sink?.end(),
    fail: (error: unknown) => sink?.fail(error),
  }
}

function anAccount() {
  const closed: (TokenUsage | UnknownCost)[] = []
  const account: CallAccount = {
    settle: (usage) => closed.push(usage),
    settleUnconfirmed: (why) => closed.push(why),
    refund: () => {},
    isClosed: () => closed.length > 0,
  }
  return { account, closed, client: createReadOn({ clock: createManualClock() }).begin('scout') }
}

const role = chunkEvent({ role: 'assistant', content: '' })
const stop = chunkEvent({}, 'stop')

async function textOf(reply: ProviderReply): Promise<string> {
  return Buffer.concat(await Array.fromAsync(reply.body)).toString()
}

describe('a stream before its first words', () => {
  test.each([
    ['a word', chunkEvent({ content: 'Hi' })],
    ['a call', chunkEvent({ tool_calls: [{ index: 0, function: { name: 't' } }] })],
    ['a thought', chunkEvent({ reasoning_content: 'hm' })],
    ['a refusal', chunkEvent({ refusal: 'no' })],
    ['the end that its bound gave it', chunkEvent({}, 'length')],
    ['what is no JSON', 'data: hello\n\n'],
    ['what has another form', 'data: {"type":"message_start"}\n\n'],
  ])('a stream before its first words is passed on from %s, and nothing is lost', async (_what, event) => {
    const source = aSource()
    const { account, closed, client } = anAccount()
    const begun = awaitFirstToken(source.reply, { account, client, secrets: [], apiFormat: chatFormat })
    expect(source.say(`: hello\n\n${role}`)).toBe(true)
    for (const piece of event.match(/[^]{1,7}/g) ?? []) source.say(piece)
    const reply = await begun
    source.say('data: [DONE]\n\n')
    source.end()
    expect(await textOf(reply)).toBe(`: hello\n\n${role}${event}data: [DONE]\n\n`)
    expect(closed).toEqual([])
  })

  test('a stream before its first words waits for its reader once it has begun', async () => {
    const source = aSource()
    const begun = awaitFirstToken(source.reply, {
      ...anAccount(),
      secrets: [],
      apiFormat: chatFormat,
    })
    expect(source.say(chunkEvent({ content: 'Hi' }))).toBe(false)
    const reply = await begun
    expect(source.asked.resumed).toBe(0)
    const reading = textOf(reply)
    expect(source.asked.resumed).toBeGreaterThan(0)
    source.end()
    expect(await reading).toContain('Hi')
  })

  test('a stream that never starts counts as a failure of the model, charged by its reported usage', async () => {
    heedsLesson(103)
    const source = aSource()
    const { account, closed, client } = anAccount()
    const begun = awaitFirstToken(source.reply, { account, client, secrets: [], apiFormat: chatFormat })
    source.say(`${role}${stop}${usageEvent()}data: [DONE]\n\n`)
    source.end()
    await expect(begun).rejects.toMatchObject({ code: 'model-failed' })
    expect(closed).toMatchObject([{ promptTokens: helloUsage.prompt_tokens }])
    expect(source.asked.discarded).toBe(1)
  })

  test('a stream that breaks before its first token reports the cause and is charged the reservation', async () => {
    const source = aSource()
    const { account, closed, client } = anAccount()
    const begun = awaitFirstToken(source.reply, { account, client, secrets: [], apiFormat: chatFormat })
    source.say(role)
    source.fail(new Error('reset'))
    await expect(begun).rejects.toThrow('reset')
    expect(closed).toEqual(['broken-off'])
  })

  test('a stream that starts with an error event is an error, and the error contains no key', async () => {
    const source = aSource()
    const begun = awaitFirstToken(source.reply, {
      ...anAccount(),
      secrets: [],
      apiFormat: chatFormat,
    })
    source.say('data: {"error":{"message":"overloaded, key sk-abcdefghijkl"}}\n\n')
    await expect(begun).rejects.toMatchObject({
      code: 'upstream-failed',
      detail: 'the stream reported an error: overloaded, key [secret]',
    })
  })

  test('a stream before its first words is passed on as it is when it is silent in very many bytes', async () => {
    const source = aSource()
    const begun = awaitFirstToken(source.reply, {
      ...anAccount(),
      secrets: [],
      apiFormat: chatFormat,
    })
    const comment = `: ${'.'.repeat(1000)}\n\n`
    for (let count = 0; count < 70; count++) source.say(comment)
    const reply = await begun
    source.end()
    expect(await textOf(reply)).toBe(comment.repeat(70))
  })
})
