'use strict'
// What any Node process in the agent's container costs: node:http, one answer, nothing else.
const { createServer } = require('node:http')

const answer = JSON.stringify({ status: 'idle' })
createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
  response.end(answer)
}).listen(8400)
