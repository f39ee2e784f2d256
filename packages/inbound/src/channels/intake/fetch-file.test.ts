import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { createFakeAdapter } from '../../../../testing/src/fake-channel.ts'
import { ChannelFailure } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { fetchFile, fileFault, whyNoFile } from './fetch-file.ts'
import type { PlainFile } from '../messages/plain-message.ts'

const mb = 1024 * 1024
const file = (fields: Partial<PlainFile> = {}): PlainFile => ({
  kind: 'document',
  name: 'a.txt',
  sizeBytes: null,
  reference: 'r',
  ...fields,
})
const { adapter } = createFakeAdapter()
const deaf = { ...adapter, download: undefined } as unknown as typeof adapter

test.each([
  ['a file of unknown size is fetched', adapter, file(), false, null],
  ['a file of 20 MB is fetched', adapter, file({ sizeBytes: 20 * mb }), false, null],
  [
    'a file with one byte more is not fetched',
    adapter,
    file({ sizeBytes: 20 * mb + 1 }),
    false,
    'the file is larger than 20 MB',
  ],
  [
    'a voice note without a transcription model is not fetched',
    adapter,
    file({ kind: 'voice' }),
    false,
    'voice notes are not supported here',
  ],
  ['a voice note of 8 MB is fetched', adapter, file({ kind: 'voice', sizeBytes: 8 * mb }), true, null],
  [
    'a voice note with one byte more is not fetched',
    adapter,
    file({ kind: 'voice', sizeBytes: 8 * mb + 1 }),
    true,
    'the file is larger than 8 MB',
  ],
  ['a file of a channel without files is not fetched', deaf, file(), false, 'this channel accepts no files'],
] as const)('%s', (...[, to, given, hearsVoice, why]) => {
  expect(fileFault(to, given, hearsVoice)).toBe(why)
})

const { fileWaitMaxMs } = channelLimits
test.each([
  ['is too large', new ChannelFailure('too-large', 'x'), 'the file is larger than 20 MB', null],
  ['is gone', new ChannelFailure('gone', 'no more'), 'no more', null],
  ['is refused', new ChannelFailure('refused', 'not yours'), 'not yours', null],
  ['is unreachable', new ChannelFailure('unreachable', 'away'), 'away', 0],
  ['may be available later', new ChannelFailure('unsure', 'broke'), 'broke', 0],
  ['must wait', new ChannelFailure('rate-limited', 'wait', 5000), 'wait', 5000],
  [
    'must wait for the longest accepted time',
    new ChannelFailure('rate-limited', 'wait', fileWaitMaxMs),
    'wait',
    fileWaitMaxMs,
  ],
  ['must wait for longer', new ChannelFailure('rate-limited', 'wait', fileWaitMaxMs + 1), 'wait', null],
  ['the person may not give', new Problem('denied', { detail: 'no' }), 'no', null],
  ['goes to an unknown agent', new Problem('unknown-agent', { detail: 'who' }), 'who', null],
  [
    'finds a full disk',
    new Problem('rate-limited', { detail: 'later', retryAfterSeconds: 3 }),
    'later',
    3000,
  ],
  ['finds an unavailable agent', new Problem('agent-unavailable', { detail: 'away' }), 'away', 0],
])('a file that %s', (...[, error, detail, waitMs]) => {
  expect(whyNoFile(file(), error)).toEqual({ detail, waitMs })
})

test('an unexpected error is rethrown', () => {
  const error = new TypeError('x')
  expect(() => whyNoFile(file(), error)).toThrow(error)
})

const opened = (download: NonNullable<typeof adapter.download>) => {
  const clock = createManualClock()
  const leaving = new AbortController()
  const fetching = fetchFile({ ...adapter, download }, file(), { clock, signal: leaving.signal })
  fetching.catch(() => {})
  return { clock, leaving, fetching }
}
const untilGivenUp = (_reference: string, _max: number, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the line was cut')))
  })

test('a file is requested by its reference and up to its limit', async () => {
  const asked: unknown[] = []
  const { fetching } = opened(async (reference, maxBytes) => {
    asked.push(reference, maxBytes)
    return Buffer.from('x')
  })
  expect(Buffer.from(await fetching).toString()).toBe('x')
  expect(asked).toEqual(['r', 20 * mb])
})

test('an empty file is rejected', async () => {
  await expect(opened(async () => new Uint8Array()).fetching).rejects.toMatchObject({
    kind: 'gone',
    message: 'the file is empty',
  })
})

test('an attempt ends after two minutes with a message', async () => {
  const { clock, fetching } = opened(untilGivenUp)
  await clock.advance(channelLimits.fileTryMaxMs)
  await expect(fetching).rejects.toMatchObject({
    kind: 'unsure',
    message: 'the download did not finish within 120 seconds',
  })
})

test('an earlier failure is reported unchanged', async () => {
  const failure = new ChannelFailure('gone', 'no more')
  const { fetching } = opened(() => Promise.reject(failure))
  await expect(fetching).rejects.toBe(failure)
})

test('an aborted download rejects with its own reason', async () => {
  const { leaving, fetching } = opened(untilGivenUp)
  const reason = new Error('the mesh is stopping')
  leaving.abort(reason)
  await expect(fetching).rejects.toBe(reason)
})
