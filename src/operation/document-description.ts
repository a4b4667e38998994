/** What a reader of the OpenAPI document has to know first: how to begin, and the words of the domain. */
export const DESCRIPTION = `One REST interface in front of the licensing platform, for internal services.

1. *Authorize* with an API key: the demo prints one in its terminal; elsewhere the operator of the gateway gives out keys.
2. Open an operation and press *Execute*: every example works against the demo as it stands, in any order.
3. Every error is \`application/problem+json\`; its \`type\` leads to the page that explains it.

| word | what it is |
| --- | --- |
| enterprise | A company's main account on the platform (\`enterpriseGlobalId\`). It has members, customers and assets |
| channel | A system through which orders reach the platform, such as a CRM (\`channelCode\`) |
| customer | An enterprise as a channel knows it: \`customerId\` on the platform, \`channelCustomerId\` in the channel |
| asset | What holds licences: a cloud account, a software key, or a hardware lock. Known by \`assetId\` and \`assetNum\` |
| product | A licence on an asset (\`productUri\`), with its time and number of users. A merchandise is a package of products |
| order | Buys or revokes assets and products. \`channelCode\` and \`channelOrderId\` name it, and it is placed at most once |
| lock | A hardware asset. It can be disabled and enabled |
| lent lock | A lock into which members move licences of their assets, to use them away from the network |
| member | An employee of an enterprise who logs in to the platform. Assets are assigned to members |

A string of the format \`id\` has no white space, control or invisible characters; one of the format \`text\`, and a password, no control or invisible characters.`;
