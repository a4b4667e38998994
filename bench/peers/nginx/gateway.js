/**
 * Handles a read in nginx and njs: the caller's key by its SHA-256, a nonce, the platform's answer unwrapped and mapped. The token is in
 * the configuration, and nginx writes the request log. njs has no destructuring and no spread.
 */
import hashing from 'crypto';

async function assets(r) {
  const key = r.headersIn['x-api-key'] || '';
  if (hashing.createHash('sha256').update(key).digest('hex') !== r.variables.key_hash) {
    r.return(401);
    return;
  }
  const id = r.uri.split('/')[3];
  const nonce = new Uint32Array(4);
  crypto.getRandomValues(nonce);
  let hex = '';
  for (let index = 0; index < nonce.length; index++) hex += nonce[index].toString(16).padStart(8, '0');
  const reply = await r.subrequest(`/order/api/order/v1/asset/${id}/list`, `g_nonce=${hex}`);
  if (reply.status !== 200) {
    r.return(502);
    return;
  }
  const answer = JSON.parse(reply.responseText);
  if (Number(answer.code) !== 0) {
    r.return(502);
    return;
  }
  r.headersOut['Content-Type'] = 'application/json';
  r.return(200, JSON.stringify({ items: answer.data.map(toAsset) }));
}

function time(long) {
  return long === null ? null : new Date(long).toISOString();
}

function toAsset(wire) {
  return {
    licenseType: wire.licenseType,
    assetNum: wire.assetNum,
    grantable: wire.grantable,
    customerId: wire.customerId,
    keyShellNumber: wire.keyShellNumber,
    locked: wire.locked,
    assetLimits: wire.assetLimits,
    assetId: wire.id,
    keyGeneration: wire.keyChipType + 3,
    frozen: wire.freezing,
    createdAt: time(wire.createTime),
    updatedAt: time(wire.updateTime),
    startsAt: time(wire.limitStartTime),
    endsAt: time(wire.limitEndTime),
    assignment: {
      status: wire.assignStatus.assignStatus,
      memberGlobalId: wire.assignStatus.assignMemberId,
      createdAt: time(Number(wire.assignStatus.createTime)),
      updatedAt: null,
    },
    extensions: wire.assetExtends.map((each) => ({ code: each.extendCode, value: each.extendValue })),
    lentLock: wire.borrowedUsbKey,
  };
}

export default { assets };
