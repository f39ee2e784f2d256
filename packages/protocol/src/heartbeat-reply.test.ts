import { describe, expect, test } from 'vitest'
import { isQuietReply } from './heartbeat-reply.ts'

describe('a reply to a heartbeat', () => {
  test.each(['HEARTBEAT_OK', ' HEARTBEAT_OK\n', '**HEARTBEAT_OK**', '`HEARTBEAT_OK`.'])(
    '%j has nothing to report',
    (text) => {
      expect(isQuietReply(text)).toBe(true)
    },
  )

  test.each(['', 'ok', 'heartbeat_ok', 'HEARTBEAT_OK, but the disk is full', 'Not HEARTBEAT_OK'])(
    '%j says something',
    (text) => {
      expect(isQuietReply(text)).toBe(false)
    },
  )
})
