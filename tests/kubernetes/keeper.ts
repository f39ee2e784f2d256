import { aCassette, calls, runs, says } from '../support/cassettes.ts'

/** Asked to `keep`, the worker `keeper` keeps a fact in its memory, and a file, a link and a mode below /data. */
export const keeperCassette = aCassette({
  agents: ['keeper'],
  when: '^keep$',
  turns: [
    calls('memory_save', { content: 'The owner drinks tea at four', key: 'owner.drink' }),
    runs('mkdir made && echo kept > made/note && ln -s /usr/bin/env made/link && chmod 750 made'),
    says('Kept.'),
  ],
})
