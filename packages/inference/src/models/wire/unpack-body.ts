import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { Problem } from '@flotilla/protocol/problem'

/** The bounds of a body before and after decompression, bytes; a larger one is rejected. */
const packedMaxBytes = 16 * 1024 * 1024
const unpackedMaxBytes = 32 * 1024 * 1024

interface Unpacker {
  /** Returns the bytes to forward; null while they are kept. Throws the Problem `provider-unreadable`. */
  take(bytes: Uint8Array): Uint8Array | null
  /** Returns the kept bytes, decompressed; null if no bytes were kept. Throws the Problem `provider-unreadable`. */
  end(): Uint8Array | null
}

type Packing = 'gzip' | 'deflate' | 'br' | 'zstd'

const unpack: Readonly<Record<Packing, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => gunzipSync(bytes, bounds),
  // Some servers omit the header of zlib.
  deflate: (bytes) => (isZlib(bytes) ? inflateSync(bytes, bounds) : inflateRawSync(bytes, bounds)),
  br: (bytes) => brotliDecompressSync(bytes, bounds),
  zstd: (bytes) => zstdDecompressSync(bytes, bounds),
}
const bounds = { maxOutputLength: unpackedMaxBytes }

/**
 * Decompresses a body that a provider or proxy compressed although the mesh asks for none. gzip and zstd are detected
 * by their first bytes, Brotli and deflate by the header. A body declared as compressed that begins like JSON, a page
 * or an event is passed unchanged. A compressed body is kept until its end: this is rare, and its words then arrive
 * all at once. Create one unpacker per body.
 */
export function createUnpacker(contentEncoding: string | undefined): Unpacker {
  const declared = sayingOf(contentEncoding)
  let packing: Packing | 'none' | 'unknown' = 'unknown'
  let kept: Uint8Array[] = []
  let keptBytes = 0

  function keep(bytes: Uint8Array): void {
    keptBytes += bytes.length
    if (keptBytes > packedMaxBytes) throw unpackable('is too large')
    // The bytes are a view of a buffer that the sender may reuse.
    kept.push(Uint8Array.from(bytes))
  }

  function taken(): Uint8Array {
    const whole = Buffer.concat(kept)
    kept = []
    return whole
  }

  return {
    take(bytes) {
      if (packing === 'none') return bytes
      if (packing === 'unknown' && kept.length === 0) {
        packing = packingOf(bytes, declared)
        if (packing === 'none') return bytes
      }
      keep(bytes)
      if (packing !== 'unknown') return null
      const head = Buffer.concat(kept)
      packing = packingOf(head, declared)
      return packing === 'none' ? taken() : null
    },
    end() {
      if (kept.length === 0) return null
      const whole = taken()
      if (packing === 'none' || packing === 'unknown') return whole
      try {
        return unpack[packing](whole)
      } catch {
        throw unpackable('cannot be unpacked')
      }
    },
  }
}

function unpackable(why: string): Problem {
  return new Problem('provider-unreadable', {
    detail: `the answer of the provider cannot be read: it is compressed, so neither JSON nor a stream of events, and ${why}`,
  })
}

function sayingOf(contentEncoding: string | undefined): Packing | null {
  const word = contentEncoding?.trim().toLowerCase().replace(/^x-/, '') ?? ''
  return Object.hasOwn(unpack, word) ? (word as Packing) : null
}

/** Detects the compression; `unknown` while there are too few bytes. */
function packingOf(bytes: Uint8Array, declared: Packing | null): Packing | 'none' | 'unknown' {
  const [first, second] = bytes
  if (first === 0x1f) return second === undefined ? 'unknown' : second === 0x8b ? 'gzip' : 'none'
  if (zstdHead.every((byte, at) => bytes[at] === byte)) return 'zstd'
  // The first bytes of zstd may arrive in several pieces.
  const isCut = bytes.length < zstdHead.length && bytes.length > 0
  if (isCut && bytes.every((byte, at) => byte === zstdHead[at])) return 'unknown'
  if (first === undefined) return 'unknown'
  if (declared !== 'br' && declared !== 'deflate') return 'none'
  if (bytes.length < plainHeadBytes) return 'unknown'
  return plainHead.test(Buffer.from(bytes.subarray(0, plainHeadBytes)).toString('latin1')) ? 'none' : declared
}

const zstdHead = [0x28, 0xb5, 0x2f, 0xfd]

/** The beginnings of answers that are declared as compressed but are not. */
const plainHead = /^(?:\xef\xbb\xbf)?\s*(?:data|even|id:|retr|:|[{["<])/
const plainHeadBytes = 4

function isZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}
