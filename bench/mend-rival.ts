import { registerHooks } from 'node:module'

/**
 * Preloaded into a second copy of the compared gateway, so that its streams can be measured: as published, it
 * appends to immutable headers and answers a streamed call with HTTP 500. The loader replaces one expression in
 * memory; nothing on disk changes.
 */
const file = '/@portkey-ai/gateway/build/start-server.js'
const faulty = 'this.updateHeaders(i,n.cacheStatus,o)'
const mended = 'i=this.updateHeaders(new Response(i.body,i),n.cacheStatus,o)'

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context)
    if (!url.endsWith(file) || loaded.source === undefined || loaded.source === null) return loaded
    const source =
      typeof loaded.source === 'string'
        ? loaded.source
        : Buffer.from(loaded.source as Uint8Array).toString('utf8')
    if (!source.includes(faulty)) throw new Error('the rival is not the version that this mends')
    return { ...loaded, source: source.replace(faulty, mended) }
  },
})
