import { expect, test } from 'vitest'
import { isStepLost } from './ensure-image.ts'

test('a step that another mesh took away is made again, and no other failure of a build is tried again', () => {
  const lost = new Error(
    '(HTTP code 500) server error - unrecognized image ID sha256:e0c8ce12953e3785a04993676d1ad2c4',
  )
  expect(isStepLost(lost)).toBe(true)
  expect(isStepLost(new Error('(HTTP code 404) no such image - No such image: sha256:e0c8'))).toBe(true)
  expect(isStepLost(new Error('The command /bin/sh -c apt-get returned a non-zero code: 100'))).toBe(false)
  expect(isStepLost(new Error('write /var/lib/docker/tmp: no space left on device'))).toBe(false)
})
