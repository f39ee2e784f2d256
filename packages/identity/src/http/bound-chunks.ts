import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'

/**
 * A parser takes as long for a chunk of one byte as for one of 64 KB, before any share of an agent is charged, and
 * all sockets that are ready are read in one stretch of the event loop. A body may have some chunks of any size;
 * further ones must have this many bytes on average. Packets of the network count as chunks.
 */
const bytesPerChunk = 16
/** How many chunks may be of any size: of a request, as clients send large ones, and of another server's answer. */
const freeChunks = { ofRequest: 1024, ofAnswer: 4096 } as const

/** The detail of the problem for a request that was refused for its chunks. */
export const tinyChunks = 'the body comes in chunks of a few bytes; send it in larger ones'

export interface ChunkBound {
  /** Counts a chunk of so many bytes; false if the body has too many tiny ones. */
  takes(bytes: number): boolean
  /** What was counted, as text. */
  counted(): string
}

export function createChunkBound(of: keyof typeof freeChunks): ChunkBound {
  let chunks = 0
  let bytes = 0
  return {
    takes: (more) => {
      chunks += 1
      bytes += more
      return chunks <= freeChunks[of] + bytes / bytesPerChunk
    },
    counted: () => `${bytes} bytes in ${chunks} chunks`,
  }
}

/**
 * Returns a class of requests whose bodies may not come in tiny chunks. `refuse` is called once with the connection
 * of a request that does, and must end the connection; no more of the body is passed on.
 */
export function requestsInChunks(refuse: (socket: Socket) => void): typeof IncomingMessage {
  return class extends IncomingMessage {
    #bound = createChunkBound('ofRequest')
    #isRefused = false

    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      // Returning false would make Node stop the connection again for each chunk that is parsed already.
      if (this.#isRefused) return true
      if (chunk !== null && !this.#bound.takes(chunk.length)) {
        this.#isRefused = true
        refuse(this.socket)
        return false
      }
      return super.push(chunk, encoding)
    }
  }
}

/** Ends an answer to Node's own client with an error if it comes in tiny chunks. Call it before its body arrives. */
export function boundAnswerChunks(answer: Readable, errorOf: (counted: string) => Error): void {
  boundStream(answer, 'ofAnswer', (counted) => answer.destroy(errorOf(counted)))
}

/** Calls `refuse` once if the body of a request over HTTP/2 comes in tiny chunks; it must end the stream. */
export function boundRequestChunks(request: Readable, refuse: () => void): void {
  boundStream(request, 'ofRequest', refuse)
}

function boundStream(stream: Readable, of: keyof typeof freeChunks, refuse: (counted: string) => void): void {
  const bound = createChunkBound(of)
  const push = stream.push.bind(stream)
  let isRefused = false
  stream.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null || (!isRefused && bound.takes(chunk.length))) return push(chunk, encoding)
    if (!isRefused && !stream.destroyed) refuse(bound.counted())
    isRefused = true
    return false
  }
}
