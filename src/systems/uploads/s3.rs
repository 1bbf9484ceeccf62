//! Those who reach the bucket without the route: users of its S3 interface, and its lifecycle rules.

use thunderhead_sim::{Env, Error, Request, Response};

use super::names::BUCKET;

/// `COPY /acme/owl.jpg` with the source's key as the body, `MULTIPART /acme/cat.jpg` with the bytes,
/// `EXPIRE /acme/cat.jpg`.
pub async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let key = request.path.trim_start_matches('/');
    let bucket = env.bucket(BUCKET);
    match &*request.method {
        "COPY" => {
            let source = request.body.text().unwrap_or_default();
            match bucket.copy(key, BUCKET, source).await {
                Ok(_) => {}
                // Nothing to copy.
                Err(Error::R2(error)) if !error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
        "MULTIPART" => {
            let upload = bucket.create_multipart_upload(key).execute().await?;
            let part = upload.upload_part(1, request.body.clone()).await?;
            upload.complete(vec![part]).await?;
        }
        "EXPIRE" => bucket.lifecycle_delete(key).await?,
        _ => return Ok(Response::new(405, "")),
    }
    Ok(Response::new(200, ""))
}
