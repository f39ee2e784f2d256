import { expect, test } from 'vitest'
import { downloadOptions, isStepLost } from './ensure-image.ts'

test('a step that another mesh took away is made again, and no other failure of a build is tried again', () => {
  const lost = new Error(
    '(HTTP code 500) server error - unrecognized image ID sha256:e0c8ce12953e3785a04993676d1ad2c4',
  )
  expect(isStepLost(lost)).toBe(true)
  expect(isStepLost(new Error('(HTTP code 404) no such image - No such image: sha256:e0c8'))).toBe(true)
  expect(isStepLost(new Error('The command /bin/sh -c apt-get returned a non-zero code: 100'))).toBe(false)
  expect(isStepLost(new Error('write /var/lib/docker/tmp: no space left on device'))).toBe(false)
})

test('what a build downloads goes through the proxy, on the network of this machine where the proxy is on it', () => {
  expect(downloadOptions('debian')).toEqual({ buildargs: { BASE: 'debian' } })
  const corp = { https_proxy: 'http://me:pw@proxy.corp:3128', NO_PROXY: 'a.com' }
  expect(downloadOptions('debian', corp)).toEqual({ buildargs: { BASE: 'debian', ...corp } })
  for (const here of [
    'http://localhost:3128',
    'http://me:pw@127.0.0.1:3128/',
    '127.0.0.1:8080',
    'https://[::1]',
  ])
    expect(downloadOptions('debian', { http_proxy: here }).networkmode, here).toBe('host')
  for (const there of ['http://127.0.0.1.corp.com:1', 'http://localhost@proxy.corp', 'http://localhosts:1'])
    expect(downloadOptions('debian', { http_proxy: there }).networkmode, there).toBeUndefined()
})
