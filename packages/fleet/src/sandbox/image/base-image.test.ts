import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../engine/connect-engine.ts'
import type { FailedStep } from '../report-step.ts'
import { ensureBaseImage } from './base-image.ts'

const unreachable =
  '(HTTP code 500) server error - Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on [::1]:53: read: connection refused'

test('a failed pull of the base image is reported with its repair before a base is built', async () => {
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
      step: 'Building the base image from this system’s packages (about a minute)',
      failed: {
        step: 'Fetching debian:bookworm-slim',
        why: 'The base image could not be downloaded: the engine cannot reach the registry of the image (the engine said: Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on [::1]:53: read: connection refused). An image built from this system’s packages is used instead. To use another one, name an image that you trust in FLOTILLA_BASE_IMAGE.',
      },
    },
  ])
})
