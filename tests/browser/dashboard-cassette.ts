import { aCassette, calls, runs, says } from '../support/cassettes.ts'

/** Markup and addresses that an attacker writes into every text that the dashboard shows. */
export const hostileText = [
  '<img src=x onerror="alert(1)">',
  '<script>alert(2)</script>',
  '<svg onload="alert(3)"></svg>',
  '[link](javascript:alert(4))',
  '![picture](http://203.0.113.9/track.png)',
  '<iframe src="https://203.0.113.9/"></iframe>',
  '<a href="data:text/html,<script>alert(5)</script>">x</a>',
].join('\n\n')

/** A file that would run scripts if the browser opened it as a page. */
export const hostileFileName = '<img src=x onerror=alert(6)>.html'
export const hostileFile = '<script>alert(7)</script><svg onload="alert(8)"></svg>'

const report = [
  '## Licences',
  '',
  'I read **three** files. Two are fine, one needs a look:',
  '',
  '| Package | Licence | Fine |',
  '| --- | --- | --- |',
  '| react | MIT | yes |',
  '| axe-core | MPL-2.0 | yes |',
  '| left-pad | none | **no** |',
  '',
  '- `left-pad` states no licence in its `package.json`',
  '- the [policy](https://example.org/policy) asks for one',
].join('\n')

/** An answer so long that it is still being streamed when the page shows it. */
const slowWords = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ')

export const dashboardCassette = aCassette(
  {
    agents: ['scribe'],
    when: 'hostile',
    turns: [runs(`cat <<'END'\n${hostileText}\nEND`), says(hostileText)],
  },
  {
    agents: ['scribe'],
    when: 'audit',
    turns: [runs('printf "react MIT\\naxe-core MPL-2.0\\nleft-pad none\\n"'), says(report)],
  },
  {
    agents: ['scribe'],
    when: 'show me code',
    turns: [
      runs('echo one'),
      runs('exit 3'),
      says('Here it is:\n\n```ts\nconst answer: number = 42 // the needle\n```\n\n```\nplain text\n```'),
    ],
  },
  {
    agents: ['scribe'],
    when: 'keep',
    turns: [
      calls('memory_save', { content: `The port is 8080. ${hostileText}`, key: 'port', category: 'server' }),
      calls('memory_save', {
        content: 'The owner likes short answers.',
        key: 'tone',
        category: 'preference',
      }),
      runs(`printf '%s' '${hostileFile}' > '${hostileFileName}'; mkdir -p notes; echo fine > notes/today.md`),
      says('It is kept.'),
    ],
  },
  {
    agents: ['tryout'],
    when: '^write a note$',
    turns: [runs('mkdir -p notes; echo fine > notes/today.md'), says('It is written.')],
  },
  {
    agents: ['scribe'],
    when: 'save a picture',
    turns: [
      calls('save_artifact', {
        name: 'markup.svg',
        content: '<svg onload="alert(6)" xmlns="http://www.w3.org/2000/svg"/>',
      }),
      says('Saved.'),
    ],
  },
  {
    agents: ['courier'],
    when: '^look at the chart$',
    turns: [calls('view_image', { path: 'chart.png' }), says('It goes up.')],
  },
  { agents: ['scribe'], when: 'slow', turns: [runs('sleep infinity'), says(slowWords)] },
  {
    agent_kind: 'operator',
    when: '^remove tryout$',
    turns: [
      calls('delete_agent', { agent_id: 'tryout', reason: 'The archive is sorted; nothing is left to do.' }),
      says('It waits for you.'),
    ],
  },
  {
    agent_kind: 'operator',
    when: '^remove courier$',
    turns: [calls('delete_agent', { agent_id: 'courier', reason: 'No reports.' }), says('It waits for you.')],
  },
  { agent_kind: 'operator', when: 'What you asked a person for', turns: [says('So it is done.')] },
  { turns: [says('Yes.')] },
)
