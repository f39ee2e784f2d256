import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { RouteCall } from './http-server.ts'

/**
 * Text that a slow client does not read is dropped above this size; the last frame contains the whole answer anyway.
 */
const unreadMaxBytes = 1024 * 1024

/** Streams the frames of one run as server-sent events; ends with the run's last frame. */
export function openFrameStream(
  { response }: RouteCall,
  keepAliveMs: number,
): { send: (frame: ChatFrame) => void } {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.flushHeaders()
  const keepAlive = setInterval(() => response.write(': keepalive\n\n'), keepAliveMs)
  const left = () => clearInterval(keepAlive)
  // The close event of a client that disconnected earlier is not emitted again.
  if (response.destroyed) left()
  else response.on('close', left)
  return {
    send: (frame) => {
      if (response.destroyed || response.writableEnded) return
      if (frame.type !== 'done' && response.writableLength > unreadMaxBytes) return
      response.write(`data: ${JSON.stringify(frame)}\n\n`)
      if (frame.type === 'done') response.end()
    },
  }
}
