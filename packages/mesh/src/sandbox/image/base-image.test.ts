import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../engine/connect-engine.ts'
import type { FailedStep } from '../report-step.ts'
import { ensureBaseImage } from './base-image.ts'
import { whyNotFetched } from './why-not-fetched.ts'

const unreachable =
  '(HTTP code 500) server error - Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on [::1]:53: read: connection refused'

test('a base that no registry gave is told as failed, in a sentence with what to do, before one is made', async () => {
  const cacheDirectory = await mkdtemp(join(tmpdir(), 'flotilla-base-image-'))
  onTestFinished(() => rm(cacheDirectory, { recursive: true, force: true }))
  const engine = { docker: { pull: () => Promise.reject(new Error(unreachable)) } } as unknown as Engine
  const told: { readonly step: string; readonly failed: FailedStep | undefined }[] = []
  const made = ensureBaseImage({
    engine,
    packages: [],
    cacheDirectory,
    noInstall: true,
    uid: 1000,
    progress: (step, failed) => {
      told.push({ step, failed })
      if (told.length === 2) throw new Error('that is all')
    },
  })
  await expect(made).rejects.toThrow('that is all')
  expect(told).toEqual([
    { step: 'Fetching debian:bookworm-slim', failed: undefined },
    {
      step: 'Making the base image from this system’s packages (about a minute)',
      failed: {
        step: 'Fetching debian:bookworm-slim',
        why: 'It could not be fetched: the engine cannot reach its registry. What is made of this system’s packages serves as well; to have another, name an image that you trust in FLOTILLA_BASE_IMAGE.',
      },
    },
  ])
})

test.each([
  [unreachable, 'the engine cannot reach its registry'],
  ['The operation was aborted due to timeout', 'the engine cannot reach its registry'],
  ['toomanyrequests: You have reached your pull rate limit.', 'its registry gives no more for now'],
  [
    '(HTTP code 404) unexpected - pull access denied for x, repository does not exist or may require login',
    'its registry wants somebody who is logged in',
  ],
  ['(HTTP code 404) no such image - manifest unknown', 'its registry has none of that name'],
  [
    '(HTTP code 500) server error - x509: unknown authority',
    'its registry shows a certificate that the engine does not trust',
  ],
  ['(HTTP code 500) server error - no space\n left on device', 'the engine said: no space left on device'],
])('of %s it says %s', (words, why) => {
  expect(whyNotFetched(new Error(words))).toBe(why)
})
