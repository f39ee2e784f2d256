import { packageImagesConformance } from '../../fleet/src/sandbox/package-images.conformance.ts'
import { createFakePackageImages } from './fake-package-images.ts'

packageImagesConformance('the fake', () => {
  const images = createFakePackageImages()
  images.registry.set('hello', '2.10-3')
  return {
    images,
    available: { apt: ['hello'], npm: [], pip: [] },
    missing: { apt: ['no-such-package'], npm: [], pip: [] },
    missingName: 'no-such-package',
    forge: (lock) => ({ ...lock, apt: lock.apt.map((one) => ({ ...one, sha256: '0'.repeat(64) })) }),
    remains: async () => [],
    forget: async (id) => images.forget(id),
  }
})
