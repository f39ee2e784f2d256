import { expect, test } from 'vitest'
import { audioTypeOf } from './audio-type.ts'
import { readTranscription } from './transcription-format.ts'

test.each([
  ['OggS\0\0', 'audio/ogg'],
  ['\0\0\0 ftypM4A ', 'audio/mp4'],
  ['\x1a\x45\xdf\xa3', 'audio/webm'],
  ['RIFF\0\0\0\0WAVEfmt ', 'audio/wav'],
  ['fLaC\0', 'audio/flac'],
  ['ID3\x04', 'audio/mpeg'],
  ['\xff\xfb\x90', 'audio/mpeg'],
  ['RIFF\0\0\0\0AVI ', undefined],
  ['#!AMR\n', undefined],
  ['ftyp', undefined],
  ['', undefined],
])('sound is what its first bytes say: %j', (begins, mediaType) => {
  expect(audioTypeOf(Buffer.from(begins, 'latin1'))?.mediaType).toBe(mediaType)
})

test.each([
  [{ text: 'x' }, null, null],
  [{ text: 'x', usage: null, duration: null }, null, null],
  [{ text: 'x', duration: 2, usage: { type: 'duration', seconds: 3 } }, 3, null],
  [{ text: 'x', usage: 'much' }, null, null],
  [{ text: 'x', duration: '' }, null, null],
  [{ text: 'x', duration: 'Infinity' }, null, null],
  [{ text: 'x', usage: { input_tokens: 5, output_tokens: 1 } }, null, { input: 5, audio: 5, output: 1 }],
  [
    { text: 'x', usage: { input_tokens: 5, output_tokens: 1, input_token_details: { audio_tokens: 99 } } },
    null,
    { input: 5, audio: 5, output: 1 },
  ],
  [{ text: 'x', usage: { input_tokens: -5, output_tokens: 1 } }, null, null],
])('only plausible numbers of a transcription are its bill: %j', (answer, seconds, tokens) => {
  expect(readTranscription(answer)).toEqual({ text: 'x', seconds, tokens })
})

test.each([[{}], [{ text: 1 }], [null], ['text']])('%j is no transcription', (answer) => {
  expect(readTranscription(answer)).toBeNull()
})
